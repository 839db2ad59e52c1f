import { naturalOrder } from './source/natural-order.ts';
import { stepOfName } from './steps.ts';
import type { Unit } from './unit.ts';

/**
 * Checkpoints by the step in their names, the newest first; those without one by the time of their newest file, after the others.
 * Names suffice here: a checkpoint whose content says another step than its name is found out when it is inspected.
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
