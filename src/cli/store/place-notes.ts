import { newestNumber } from '../../store/attempt/attempt.ts';
import type { Manifest } from '../../seal/manifest.ts';
import { scan } from '../../store/folder/scan.ts';
import type { Store } from '../../store/folder/store.ts';
import { printable } from '../../core/printable.ts';

/** Explains where a new seal sorts in the run, when that differs from what a person expects. */
export function placeNotes(store: Store, { save, step, attempt }: Manifest): readonly string[] {
  const { run } = store;
  if (run === null) return [];
  const { sealed, rolledBack, rollback } = scan(store);
  const from = rollback === null || rollback.to === null ? 'to start fresh' : `to step ${rollback.to.step}`;
  if (rolledBack.some(({ manifest }) => manifest.save === save)) {
    return [
      `it was written before the run was rolled back ${from}, so it does not count. To let it count, use holdfast rollback RUN --undo. If it was made after the rollback, remove its manifest and seal it with --attempt=${newestNumber({ ...store, run })}`,
    ];
  }
  const place = sealed.findIndex(({ manifest }) => manifest.save === save);
  const [newest] = sealed;
  if (place > 0 && newest !== undefined && attempt < newestNumber({ ...store, run })) {
    return [`a run resumes from ${printable(newest.name)} (step ${newest.manifest.step}), which is newer than this one`];
  }
  const passed = place === 0 ? sealed.find(({ manifest }) => manifest.step > step) : undefined;
  if (passed !== undefined) {
    return [
      `a run now resumes from this one instead of ${printable(passed.name)} (step ${passed.manifest.step}), which an older attempt saved`,
    ];
  }
  if (
    place === 0 &&
    rollback !== null &&
    sealed.every(({ manifest }) => manifest.save === save || manifest.attempt <= rollback.throughAttempt)
  ) {
    return [`this one was written after the run was rolled back ${from}, so a run now resumes from it`];
  }
  return [];
}
