import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { attemptKey, formatAttempt, newestTaken } from './attempt-record.ts';
import { listCopies } from './list-copies.ts';
import { readPointer } from './pointer.ts';
import { remoteRollback } from './remote-rollback.ts';
import { claimPrefix } from './whose-prefix.ts';

/** Other nodes that take numbers at the same time finish sooner or later. */
const MAX_TRIES = 20;

/** The run and the attempts that a new number must be above. */
export interface NumberWish {
  readonly run: string;
  readonly gang: string;
  /** The newest attempt that this node knows. */
  readonly above: number;
}

/**
 * Takes an attempt number that no other node has taken or will take. It is above every number and
 * copy there, above the attempts that a rollback excludes, and above `above`. A disk that dies
 * takes its own numbers with it. Without this the next node would reuse them, and the age of copies
 * from the two nodes could not be compared. The prefix becomes the run's.
 */
export async function takeAttemptNumber(remote: ObjectStore, { above, gang, run }: NumberWish): Promise<number> {
  await claimPrefix(remote, run);
  // An attempt that the rollback excludes would save for nothing. The rollback itself took the next
  // number.
  const rolledBack = ((await remoteRollback(remote))?.throughAttempt ?? -1) + 1;
  const newest = Math.max(above, await newestCopied(remote, run), rolledBack, await newestTaken(remote));
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const attempt = newest + tries;
    const { isWritten } = await remote.create(attemptKey(attempt), Buffer.from(formatAttempt({ attempt, gang, run })));
    if (isWritten) return attempt;
  }
  throw new HoldfastError('REMOTE_UNAVAILABLE', {
    message: `other processes have taken ${MAX_TRIES} attempt numbers in a row at ${printable(remote.url)}`,
    hint: 'Is the same run started on several nodes at once? Only one of them trains; the others are fenced.',
  });
}

/** The newest attempt that shipped a copy; where the pointer cannot say, the manifests do. */
async function newestCopied(remote: ObjectStore, run: string): Promise<number> {
  const pointer = (await readPointer(remote))?.pointer ?? null;
  if (pointer?.run === run) return pointer.attempt;
  const newest = (await listCopies(remote, () => {})).find((one) => one.run === run);
  return newest?.age.attempt ?? 0;
}
