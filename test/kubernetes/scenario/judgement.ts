import { expect } from 'vitest';
import type { Cause } from './cause.ts';
import type { Outcome } from './interrupted-run.ts';
import { STUBBORN_GRACE_SECONDS } from './training-job.ts';

/** Far more than what is granted where nobody grants anything, and far less than what pods and nodes do. */
const LITTLE_SECONDS = 4;

/** Waits for all also when one fails: what goes on would meet the next test. */
export async function settled<Values extends readonly Promise<unknown>[]>(
  ...all: Values
): Promise<{ -readonly [Index in keyof Values]: Awaited<Values[Index]> }> {
  await Promise.allSettled(all);
  return Promise.all(all);
}

/** The control. Whoever was killed is started again, and finishes; whoever left with 0 half-way only where the Job does not count it. */
export function expectControl(cause: Cause, bare: Outcome, twin: string): void {
  const isLost = bare.exitCode === 0 && cause.exitWithZero === 'complete';
  expect(bare).toMatchObject({ job: 'Complete', result: isLost ? null : twin });
  if (cause.exitWithZero === 'complete') expect(bare.phase).toBe(bare.exitCode === 0 ? 'Succeeded' : 'Failed');
}

export function expectSupervised(cause: Cause, supervised: Outcome, twin: string): void {
  expect(supervised).toMatchObject({ phase: 'Failed', job: 'Complete', result: twin });
  expect(supervised.nextNode).not.toBe(supervised.firstNode);
  expect(cause.exitCodes).toContain(supervised.exitCode);
  // Saved at step 100 at the latest; where there was time for it, at the step where it was interrupted.
  expect([101, 111]).toContain(supervised.resumedWith);
  if (supervised.exitCode === 143) expect(JSON.parse(supervised.message)).toMatchObject({ exitCode: 143, provisional: false });
}

/** Bounds that no busy machine breaks: what is granted is measured in another place. */
export function expectGrace(cause: Cause, seconds: number | null): void {
  if (cause.grace === 'none') expect(seconds).toBeNull();
  else if (cause.grace === 'short') expect(seconds).toBeLessThan(STUBBORN_GRACE_SECONDS);
  else expect(seconds).toBeGreaterThan(LITTLE_SECONDS);
}
