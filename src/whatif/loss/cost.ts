import type { Gang } from '../gangs/gang.ts';
import { worstCost } from '../gangs/lost-work.ts';
import type { World } from '../world/world.ts';

/** The loss of several gangs together. */
export interface Cost {
  /** Null if the loss of any gang is unknown. */
  readonly acceleratorSeconds: number | null;
  /** What is unknown counts as much as it can be; answers are ranked by it. */
  readonly worst: number;
}

/** Nothing is lost. */
export const NO_COST: Cost = Object.freeze({ acceleratorSeconds: 0, worst: 0 });

/** What it costs to stop these gangs now. A service has no training progress to lose. */
export function costOf({ losses }: World, gangs: readonly Gang[]): Cost {
  let [known, worst]: [number | null, number] = [0, 0];
  for (const gang of gangs) {
    const loss = losses.of(gang);
    if (!loss.isService) known = known === null || loss.acceleratorSeconds === null ? null : known + loss.acceleratorSeconds;
    worst += worstCost(loss);
  }
  return { acceleratorSeconds: known, worst };
}
