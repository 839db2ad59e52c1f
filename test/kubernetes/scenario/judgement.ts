import { expect } from 'vitest';
import { parseTerminationMessage } from '../../../src/domain/termination-message.ts';
import type { Cause } from './cause.ts';
import type { FirstAttempt } from './first-attempt.ts';
import type { Outcome } from './interrupted-run.ts';
import { LONG_GRACE_SECONDS } from './measured-grace.ts';
import { GRACE_SECONDS, type Manner, STUBBORN_GRACE_SECONDS } from './training-job.ts';

/** Far more than what is granted where nobody grants anything, and far less than what pods and nodes do. */
const LITTLE_SECONDS = 4;
/** How a run ends that was interrupted and can go on. */
const INTERRUPTED = 143;
/** Saved by the cadence, and where the trainer holds. */
const [SAVED_STEP, HELD_STEP] = [400, 410];

/** Waits for all also when one fails: what goes on would meet the next test. */
export async function settled<Values extends readonly Promise<unknown>[]>(
  ...all: Values
): Promise<{ -readonly [Index in keyof Values]: Awaited<Values[Index]> }> {
  await Promise.allSettled(all);
  return Promise.all(all);
}

export function expectOutcome(cause: Cause, manner: Manner, outcome: Outcome, twin: string): void {
  expectMarks(cause, outcome);
  if (manner === 'bare') expectControl(cause, outcome, twin);
  else if (manner === 'untrapped') expectUntrapped(outcome, twin);
  else expectSupervised(cause, outcome, twin);
}

/** What is left on the pod tells the cause, and its Job counts it only where nothing on it says that it was interrupted. */
function expectMarks(cause: Cause, { exitCode, phase, podReason, disruption, failures }: Outcome): void {
  const { marks } = cause;
  const wasKilled = exitCode !== 0 && exitCode !== INTERRUPTED;
  expect({ podReason, disruption }).toEqual({
    podReason: phase === 'Succeeded' ? null : marks.podReason,
    disruption: marks.disruption,
  });
  const counted = wasKilled ? marks.failuresWhenKilled : 0;
  expect(mayBeCalledFailedFirst(cause) ? [counted, marks.failuresWhenKilled] : [counted]).toContain(failures);
}

/**
 * What a kubelet ends by itself, with a reason of its own, it calls failed at once, and sends that when the container has ended: a busy one before it sends with what
 * (the trace `node-critical-pod-exit-0` has pods that failed and then succeeded). A Job that looks between the two takes it for failed, with no exit code.
 */
function mayBeCalledFailedFirst({ marks }: Cause): boolean {
  return marks.podReason !== null;
}

/**
 * The control that saves and leaves with 0. Whoever was killed is started again, and finishes; whoever left with 0 half-way only where the Job does
 * not count it. Where the pod has its whole grace, or what a node grants, it does leave with 0, unless its container was gone before that was reported.
 */
function expectControl(cause: Cause, bare: Outcome, twin: string): void {
  if ((cause.grace === 'pod' || cause.grace === 'node') && isReported(bare)) expect(bare.exitCode).toBe(0);
  const isStartedAgain = mayBeCalledFailedFirst(cause) && bare.nextNode !== null;
  const isLost = bare.exitCode === 0 && cause.exitWithZero === 'complete' && !isStartedAgain;
  expect(bare).toMatchObject({ job: 'Complete', result: isLost ? null : twin });
  if (cause.exitWithZero === 'complete') expect(bare.phase).toBe(bare.exitCode === 0 ? 'Succeeded' : 'Failed');
}

/** A kubelet that evicts may have removed the container before it has looked how that ended: then 137 and the message are the kubelet's own. */
function isReported({ containerReason }: Outcome): boolean {
  return containerReason !== 'ContainerStatusUnknown';
}

/** The control that traps nothing: as the first process of a container it does not even hear SIGTERM. It is killed, and loses what it had not saved. */
function expectUntrapped(untrapped: Outcome, twin: string): void {
  expect(untrapped).toMatchObject({ phase: 'Failed', exitCode: 137, job: 'Complete', result: twin, resumedWith: SAVED_STEP + 1 });
}

function expectSupervised(cause: Cause, supervised: Outcome, twin: string): void {
  expect(supervised).toMatchObject({ phase: 'Failed', job: 'Complete', result: twin });
  expect(supervised.nextNode).not.toBe(supervised.firstNode);
  if (isReported(supervised)) expect(cause.exitCodes).toContain(supervised.exitCode);
  const { ledger } = supervised;
  if (ledger === null) throw new Error('there is no ledger');
  expectBelief(cause, ledger);
  expectSaved(supervised, ledger);
  expectWords(cause, supervised, ledger);
}

/** Whoever was told to end knows how long it has, as far as that can be known from inside a pod. */
function expectBelief(cause: Cause, { notice, deadline, decision }: FirstAttempt): void {
  if (cause.grace === 'none') expect({ notice, deadline, decision }).toEqual({ notice: null, deadline: null, decision: null });
  if (deadline === null) return;
  expect(notice).toMatchObject({ cause: 'sigterm', terminating: true, source: 'signal' });
  expect(deadline.graceMs, JSON.stringify(deadline)).toBe((cause.believesSeconds ?? GRACE_SECONDS) * 1000);
  if (decision !== null) expect(decision.numbers.leftMs).toBeLessThanOrEqual(deadline.graceMs);
}

/** It goes on after the last good step: the one where it was interrupted if the last save was made, else the one of the cadence. */
function expectSaved({ resumedWith }: Outcome, { decision, flush, end }: FirstAttempt): void {
  expect([SAVED_STEP + 1, HELD_STEP + 1]).toContain(resumedWith);
  if (flush?.outcome === 'made') expect(resumedWith).toBe(HELD_STEP + 1);
  if (decision?.outcome === 'keep-last-good') expect(resumedWith).toBe(SAVED_STEP + 1);
  if (end !== null) expect(resumedWith).toBeGreaterThanOrEqual((end.lastGoodStep ?? -1) + 1);
}

/** The exit code and the ledger tell the same end; who was killed from outside may have told less, and nothing else. */
function expectWords(cause: Cause, outcome: Outcome, attempt: FirstAttempt): void {
  const { exitCode, message } = outcome;
  const { notice, deadline, trainer, end } = attempt;
  const told = endOf(cause);
  if (end !== null) expect(end).toMatchObject(told);
  if (cause.grace === 'none' && trainer !== null) expect(trainer).toMatchObject({ signal: 'SIGKILL', saidFinished: false });
  if (exitCode === 143) for (const event of [notice, deadline, trainer, end]) expect(event).not.toBeNull();
  if (exitCode === 143) expect(JSON.parse(message)).toMatchObject({ provisional: false });
  if (message !== '' && isReported(outcome)) expectMessage(message, told, attempt);
}

/** So does the termination message: the last one where there was an end, and at least the one that is left at the notice where there is any. */
function expectMessage(message: string, told: ReturnType<typeof endOf>, { attempt, flush, end }: FirstAttempt): void {
  const parsed = parseTerminationMessage(message);
  if (!parsed.ok) throw new Error(`${parsed.reason}: ${message}`);
  if (parsed.value.provisional) {
    expect(parsed.value).toMatchObject({ attempt, exitCode: null, end: null, cause: told.cause });
    return;
  }
  expect(parsed.value).toMatchObject({ attempt, ...told, lastGoodStep: end?.lastGoodStep ?? null });
  if (flush !== null) expect(parsed.value.flush).toBe(flush.outcome);
}

function endOf({ grace }: Cause): { readonly exitCode: number; readonly end: string; readonly cause: string | null } {
  return grace === 'none' ? { exitCode: 137, end: 'killed', cause: null } : { exitCode: 143, end: 'interrupted', cause: 'sigterm' };
}

/** Bounds that no busy machine breaks: what is granted is measured in another place. */
export function expectGrace(cause: Cause, seconds: number | null): void {
  if (cause.grace === 'none') expect(seconds).toBeNull();
  else if (cause.grace === 'short') expect(seconds).toBeLessThan(STUBBORN_GRACE_SECONDS);
  else if (cause.grace !== 'unsure') expect(seconds).toBeGreaterThan(LITTLE_SECONDS);
  if (cause.grace === 'node') expect(seconds).toBeLessThan(LONG_GRACE_SECONDS);
}
