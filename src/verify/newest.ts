import { naturalOrder } from '../bytes/source/natural-order.ts';
import { stepOfName } from '../formats/reading/steps.ts';
import type { Unit } from '../formats/reading/unit.ts';

/**
 * Sorts checkpoints by the step in their names, the newest first. Checkpoints without a step
 * follow, by the time of their newest file. Names suffice here: the inspection finds a checkpoint
 * whose content has another step than its name.
 */
export function newestFirst(units: readonly Unit[]): readonly Unit[] {
  const keyed = units.map((unit) => ({
    unit,
    step: stepOfName(unit.path.split('/').at(-1) || unit.directory.name) ?? unit.insideStep ?? null,
    path: unit.path,
  }));
  keyed.sort((a, b) => (b.step ?? -1) - (a.step ?? -1) || newestFile(b.unit) - newestFile(a.unit) || naturalOrder(a.path, b.path));
  return keyed.map(({ unit }) => unit);
}

function newestFile(unit: Unit): number {
  let newest = 0;
  for (const { mtimeMs } of unit.files().values()) newest = Math.max(newest, mtimeMs);
  return newest;
}
