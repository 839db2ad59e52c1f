import type { Attempt } from '../checkpoint/store/attempt.ts';
import { otherProgramSentence } from '../domain/program.ts';
import { lastCommand } from '../ledger/last-command.ts';
import type { Resume } from './find-resume.ts';
import type { LiveOptions } from './live-once.ts';

/** Whoever starts another program in the folder of a run is told whose checkpoint it gets. */
export function tellOtherProgram(
  { options, store, book, restart }: Pick<LiveOptions, 'options' | 'store' | 'book' | 'restart'>,
  { attempt, resume }: { readonly attempt: Attempt; readonly resume: Resume | null },
): void {
  if (restart > 0 || resume === null) return;
  const before = lastCommand(store.path, attempt.attempt);
  const sentence = before === null ? null : otherProgramSentence(options.command, before, resume.step);
  if (sentence !== null) book.warn(sentence);
}
