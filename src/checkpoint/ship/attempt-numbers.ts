import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import type { ObjectStore } from './backend.ts';
import { readPointer } from './pointer.ts';
import { remoteRollback } from './remote-rollback.ts';

const FOLDER = '.holdfast/attempt-numbers/';
const NUMBER = /^([1-9]\d{0,14})\.json$/;
/** Others who take numbers at the same time finish sooner or later. */
const MAX_TRIES = 20;

/**
 * Takes a number for an attempt that no other node has taken or will take: above every one that was taken here, above that of the newest copy, above
 * those that a rollback is about, and above `above`, the newest that this node knows. A disk that dies takes its numbers with it; without this the next node would give
 * them a second time, and what two lives of the run had shipped could not be told apart by age.
 */
export async function takeAttemptNumber(remote: ObjectStore, { above, gang }: { above: number; gang: string }): Promise<number> {
  let newest = Math.max(above, (await readPointer(remote))?.pointer?.attempt ?? 0);
  // One that a rollback is about would save what does not count; whoever rolled back has taken the next.
  newest = Math.max(newest, ((await remoteRollback(remote))?.throughAttempt ?? -1) + 1);
  for await (const { key } of remote.list(FOLDER)) newest = Math.max(newest, Number(NUMBER.exec(key.slice(FOLDER.length))?.[1] ?? 0));
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const attempt = newest + tries;
    const { isWritten } = await remote.create(`${FOLDER}${attempt}.json`, Buffer.from(`${JSON.stringify({ attempt, gang })}\n`));
    if (isWritten) return attempt;
  }
  throw new HoldfastError('REMOTE_UNAVAILABLE', {
    message: `others have taken ${MAX_TRIES} attempt numbers in a row at ${printable(remote.url)}`,
    hint: 'Is the same run started on several nodes at once? One at a time trains; the others are fenced.',
  });
}
