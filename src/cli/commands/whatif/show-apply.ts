import { problemLine } from '../../cluster/read-state.ts';
import type { Output } from '../../output/output.ts';
import { applyData } from './apply-data.ts';
import type { AppliedManifests } from './apply-manifests.ts';
import { renderApply } from './render-apply.ts';
import { renderExplanation } from './render-explanation.ts';

/** Prints the answer, and names what could not be read. */
export function showApply(asked: AppliedManifests, output: Output): void {
  const { answer, explanation, problems } = asked;
  if (output.json) return output.printJson(applyData(asked));
  if (output.quiet) output.print(...answer.evicted.map(({ pod }) => pod.key));
  else if (explanation !== null) output.print(...renderExplanation(explanation, output));
  else if (answer.pods.length === 0) output.note('the manifest makes no pod that is not running already');
  else output.print(...renderApply(asked, output));
  for (const problem of problems) output.note(`left out: ${problemLine(problem)}`);
}
