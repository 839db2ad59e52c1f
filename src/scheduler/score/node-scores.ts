import { meetsNodeTerm } from '../objects/affinity.ts';
import { tolerates } from '../objects/toleration.ts';
import { BEST, type Scorer } from './scorer.ts';

/** Taints that only discourage: the more of them, the worse, as a share of the most. */
export const tolerationScores: Scorer = ({ pod }, passed) => {
  const tolerations = pod.tolerations.filter(({ effect }) => effect === null || effect === 'PreferNoSchedule');
  const counts = passed.map(({ node: { taints } }) => {
    let count = 0;
    for (const taint of taints) if (taint.effect === 'PreferNoSchedule' && !tolerates(tolerations, taint)) count += 1;
    return count;
  });
  return sharesOf(counts).map((share) => BEST - share);
};

/** The weights of the node preferences that hold, as a share of the most. */
export const preferenceScores: Scorer = ({ pod }, passed) => {
  const { preferredNodes } = pod.affinity;
  if (preferredNodes.length === 0) return null;
  return sharesOf(
    passed.map(({ node }) => preferredNodes.reduce((sum, { weight, what }) => sum + (meetsNodeTerm(what, node) ? weight : 0), 0)),
  );
};

function sharesOf(counts: readonly number[]): readonly number[] {
  const most = counts.reduce((found, count) => Math.max(found, count), 0);
  return most === 0 ? counts.map(() => 0) : counts.map((count) => Math.floor((BEST * count) / most));
}
