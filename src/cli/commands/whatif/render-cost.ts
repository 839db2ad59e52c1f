import { formatDuration } from '../../../core/duration.ts';
import type { Cost } from '../../../whatif/loss/cost.ts';
import type { LostWork } from '../../../whatif/gangs/lost-work.ts';

/** Accelerator-hours with two digits: `49`, `1.2`, `0.031`. */
function hoursText(acceleratorSeconds: number): string {
  const hours = acceleratorSeconds / 3600;
  return hours >= 100 ? String(Math.round(hours)) : String(Number(hours.toPrecision(2)));
}

/** `1.2 GPU-hours`, or `unknown, at most 49 GPU-hours`. */
export function costText({ acceleratorSeconds, worst }: Cost): string {
  if (acceleratorSeconds !== null) return acceleratorSeconds === 0 ? 'nothing' : `${hoursText(acceleratorSeconds)} GPU-hours`;
  return Number.isFinite(worst) ? `unknown, at most ${hoursText(worst)} GPU-hours` : 'unknown';
}

/** What one gang loses, in a few words. */
export function lossText(loss: LostWork): string {
  const { isService, unsavedSeconds, acceleratorSeconds, atMostAcceleratorSeconds, restartSeconds, accelerators } = loss;
  if (isService) return 'no training: a service';
  if (unsavedSeconds === null || acceleratorSeconds === null) {
    return atMostAcceleratorSeconds === null
      ? 'unknown: no record of a save'
      : `unknown: no record of a save; at most ${hoursText(atMostAcceleratorSeconds)} GPU-hours, all since it started`;
  }
  const restart = restartSeconds === null ? '; its restart is unknown' : ` + ${formatDuration(1000 * restartSeconds)} restart`;
  return `${formatDuration(1000 * unsavedSeconds)} unsaved${restart}, × ${accelerators} = ${hoursText(acceleratorSeconds)} GPU-hours`;
}
