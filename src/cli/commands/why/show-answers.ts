import { summaryOf } from '../../../why/summary.ts';
import { problemLine } from '../../cluster/read-state.ts';
import type { Output } from '../../output/output.ts';
import type { Found } from './find-answers.ts';
import { renderAnswer, renderOthers } from './render-answer.ts';
import { renderSummary } from './render-summary.ts';
import { whyData } from './why-data.ts';

/** How much to show, and how. */
export interface Show {
  readonly output: Output;
  readonly isAll: boolean;
  readonly nowMs: number;
}

/** Prints the answers, and names what is unreadable. */
export function showAnswers(found: Found, { output, isAll, nowMs }: Show): void {
  const { answers, problems, since } = found;
  const summary = since === null ? null : summaryOf(answers);
  if (output.json) return output.printJson(whyData(found, summary));
  const [first, ...others] = answers;
  if (output.quiet) output.print(...answers.map(({ judgement, subject }) => `${judgement.cause}  ${subject}`));
  else if (first === undefined) output.note(`nothing of ${found.about} has ended${since === null ? '' : ' in that time'}`);
  else if (summary !== null) output.print(...renderSummary(summary, found, { ...output, nowMs }));
  else if (isAll) for (const answer of answers) output.print(...renderAnswer(answer, output), '');
  else output.print(...renderAnswer(first, output), ...renderOthers(others, output));
  for (const problem of problems) output.note(`left out: ${problemLine(problem)}`);
}
