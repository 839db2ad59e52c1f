import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { describeStorage } from '../../volumes/storage.ts';
import type { QueueStore } from '../store.ts';

/** Opens the database of `--db`, without loading the driver of the other engine. */
export async function openStore(place: string): Promise<QueueStore> {
  if (/^postgres(ql)?:\/\//.test(place)) {
    const { openPostgres } = await import('./postgres/store.ts');
    return openPostgres(place);
  }
  // A link may lead from a local folder to another file system.
  const { fileSystem } = describeStorage(existsSync(place) ? place : dirname(place));
  if (fileSystem.home === 'network' || fileSystem.home === 'object-store') {
    throw new HoldfastError('QUEUE_PLACE_REFUSED', {
      message: `${printable(place)} lies on ${fileSystem.title}, which does not give SQLite the locks and syncs it needs`,
      hint: 'Keep the file on a local disk, or use --db=postgres://…',
    });
  }
  const { openSqlite } = await import('./sqlite/store.ts');
  return openSqlite(place);
}
