import { listQuarantine, type Quarantined, restore } from '../../../store/resume/quarantine.ts';
import { openExistingRun, readRun } from '../../../store/folder/store.ts';
import type { Clock } from '../../../core/clock.ts';

/** Lists the checkpoints in quarantine of the run at a path. */
export function listQuarantined(path: string, clock: Clock): readonly Quarantined[] {
  return listQuarantine(readRun(path, { clock }));
}

/** Restores a quarantined checkpoint of the run at a path. */
export function restoreQuarantined(path: string, id: string, clock: Clock): Quarantined {
  return restore(openExistingRun(path, { clock }), id);
}
