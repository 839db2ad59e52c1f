import { listQuarantine, type Quarantined, restore } from '../../checkpoint/store/quarantine.ts';
import { openExistingRun, readRun } from '../../checkpoint/store/store.ts';
import type { Clock } from '../../core/clock.ts';

export function listQuarantined(path: string, clock: Clock): readonly Quarantined[] {
  return listQuarantine(readRun(path, { clock }));
}

export function restoreQuarantined(path: string, id: string, clock: Clock): Quarantined {
  return restore(openExistingRun(path, { clock }), id);
}
