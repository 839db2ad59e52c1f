import type { Attempt } from '../../store/attempt/attempt.ts';
import { otherProgramSentence } from '../../domain/restart/program.ts';
import { lastCommand } from '../../ledger/last-command.ts';
import type { Resume } from '../base/resume.ts';
import type { AttemptOptions } from './attempt-options.ts';

/**
 * Warns when another program starts in the folder of a run, and names the program whose checkpoint
 * it gets.
 */
export function warnOfOtherProgram(
  { options, store, log, restart }: Pick<AttemptOptions, 'options' | 'store' | 'log' | 'restart'>,
  { attempt, resume }: { readonly attempt: Attempt; readonly resume: Resume | null },
): void {
  if (restart > 0 || resume === null) return;
  const before = lastCommand(store.path, attempt.attempt);
  const sentence = before === null ? null : otherProgramSentence(options.command, before, resume.step);
  if (sentence !== null) log.warn(sentence);
}
