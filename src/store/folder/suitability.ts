import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { commitRule } from '../../volumes/commit-rule.ts';
import { roomOf } from '../../volumes/space.ts';
import { describeStorage } from '../../volumes/storage.ts';
import { storageWarnings, type WarningCode } from '../../volumes/warnings.ts';

/**
 * Refuses storage without atomic renames: neither the commit nor the fence against an older attempt
 * would hold there.
 */
export function assertSuited(path: string): void {
  const storage = describeStorage(path);
  const { protocol, reason, wayOut } = commitRule({ ...storage, capabilities: null });
  if (protocol === 'rename') return;
  if (storage.isReadOnly) {
    throw new HoldfastError('STORE_NOT_WRITABLE', {
      message: `nothing can be written in ${printable(path)}. ${reason}`,
      hint: wayOut ?? '',
    });
  }
  throw new HoldfastError('STORAGE_NOT_SUITED', {
    message: `no run can be kept in ${printable(path)}. ${reason}`,
    hint: wayOut ?? 'Save on a disk or a network file system, and copy finished checkpoints here. `holdfast probe PATH` shows the details.',
  });
}

/** The warnings that do not matter when every checkpoint is copied elsewhere. */
const MENDED_BY_COPIES: ReadonlySet<WarningCode> = new Set(['DIES_WITH_POD', 'NOT_DURABLE']);

/** Lists the warnings about a run's storage that can cost checkpoints. */
export function storageConcerns(path: string, { isCopied = false }: { readonly isCopied?: boolean } = {}): readonly string[] {
  const storage = describeStorage(path);
  const commit = commitRule({ ...storage, capabilities: null });
  const room = roomOf(storage.space, { evictionLine: null, ephemeral: null });
  return storageWarnings({ storage, commit, room, evictionLine: null, leftover: null })
    .filter(({ level, code }) => level === 'loud' && !(isCopied && MENDED_BY_COPIES.has(code)))
    .map(({ message }) => message);
}
