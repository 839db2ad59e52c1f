import type { Place } from '../reading/numbering.ts';

/** The three counters of a trainer's checkpoint; null where a file does not tell. */
export interface Counters {
  /** `global_step` of the trainer. */
  readonly step: number | null;
  /** How often the scheduler was stepped. */
  readonly schedule: number | null;
  /** How many updates the optimizer has made. */
  readonly updates: number | null;
}

/**
 * The trainer steps the scheduler exactly when the optimizer has made an update, and counts a step
 * each time, also when loss scaling skipped the update. So the first two are equal and neither is
 * ahead of the third.
 */
export function checkCounters({ directory, findings }: Place, { step, schedule, updates }: Counters): void {
  const report = (file: string, expected: number | null, found: number | null, message: string) => {
    const where = { file: directory.pathOf(file), expected: String(expected), found: String(found) };
    findings.add('TRAINER_STATES_DISAGREE', where, message);
  };
  if (schedule !== null && updates !== null && schedule !== updates) {
    report('optimizer.pt', schedule, updates, `the scheduler was stepped ${schedule} times, but the optimizer has made ${updates} updates`);
    return;
  }
  const counted = updates ?? schedule;
  if (counted === null || step === null || counted === step) return;
  const file = updates === null ? 'scheduler.pt' : 'optimizer.pt';
  if (counted > step) {
    report(file, step, counted, `${file} counts ${counted} steps, but the trainer is at step ${step}`);
    return;
  }
  const where = { file: directory.pathOf(file), expected: String(step), found: String(counted) };
  findings.add('TRAINER_STATES_BEHIND', where, `${file} counts ${counted} steps, the trainer ${step}`);
}
