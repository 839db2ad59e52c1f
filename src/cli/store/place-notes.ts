import { newestNumber } from '../../checkpoint/store/attempt.ts';
import type { Manifest } from '../../checkpoint/store/manifest.ts';
import { scan } from '../../checkpoint/store/scan.ts';
import type { Store } from '../../checkpoint/store/store.ts';
import { printable } from '../../core/printable.ts';

/** What a person is told of where one that was just sealed has its place, when it is not the one that everybody expects. */
export function placeNotes(store: Store, { save, step, attempt }: Manifest): readonly string[] {
  const { run } = store;
  if (run === null) return [];
  const { sealed, rolledBack, rollback } = scan(store);
  const from = rollback === null || rollback.to === null ? 'to start fresh' : `to step ${rollback.to.step}`;
  if (rolledBack.some(({ manifest }) => manifest.save === save)) {
    return [
      `it was written before the run was rolled back ${from}, and does not count: holdfast rollback RUN --undo lets it; if it was made since then, remove its manifest and say --attempt=${newestNumber({ ...store, run })}`,
    ];
  }
  const place = sealed.findIndex(({ manifest }) => manifest.save === save);
  const [newest] = sealed;
  if (place > 0 && newest !== undefined && attempt < newestNumber({ ...store, run })) {
    return [`${printable(newest.name)} of step ${newest.manifest.step} is newer: a run resumes from that one, and not from this`];
  }
  const passed = place === 0 ? sealed.find(({ manifest }) => manifest.step > step) : undefined;
  if (passed !== undefined) {
    return [`a run resumes from this one now, and not from ${printable(passed.name)} of step ${passed.manifest.step}, of an older attempt`];
  }
  if (
    place === 0 &&
    rollback !== null &&
    sealed.every(({ manifest }) => manifest.save === save || manifest.attempt <= rollback.throughAttempt)
  ) {
    return [`the run was rolled back ${from}; this was written since, and a run resumes from it now`];
  }
  return [];
}
