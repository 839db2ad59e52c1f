import { expect } from 'vitest';
import { parseTerminationMessage } from '../../../src/domain/termination-message.ts';
import type { Cause } from './cause.ts';
import { cgroupVersion } from '../cluster/cgroups.ts';
import type { Attempt } from './attempt.ts';
import type { Outcome } from './interrupted-run.ts';
import { LONG_GRACE_SECONDS } from './measured-grace.ts';
import { type Form, GRACE_SECONDS, type Manner, STUBBORN_GRACE_SECONDS, isSupervised } from './training-job.ts';

/** Far more than what is granted where nobody grants anything, and far less than what pods and nodes do. */
const LITTLE_SECONDS = 4;
/** How a run ends that was interrupted and can go on. */
const INTERRUPTED = 143;
/** Saved by the cadence, and where the trainer holds. */
const [SAVED_STEP, HELD_STEP] = [400, 410];
/** With version 2 of control groups a kubelet has the kernel end a container as a whole (`memory.oom.group`), so nobody in it can tell. */
const OUTLIVES_OOM = cgroupVersion() === 1;
/** What the process runs that has started the trainer: the one executable of its image, or a Node from the tree that is mounted. */
const PROGRAMS: Readonly<Record<Form, RegExp>> = { binary: /^\/opt\/holdfast$/, tree: /^\/opt\/tree\/.*\/node$/ };

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
  if (isSupervised(manner)) expectFinish(manner, outcome);
}

/** The attempt that came to the end of the training says so, in the ledger and in the message of its container, and was that supervisor's. */
export function expectFinish(form: Form, { last, supervisor }: Outcome): void {
  if (last === null || last.ledger === null) throw new Error('there is no attempt that came to its end');
  const told = { exitCode: 0, end: 'finished' };
  expect(last.ledger.end).toMatchObject(told);
  expect(last.ledger.trainer).toMatchObject({ code: 0, signal: null, saidFinished: true });
  const parsed = parseTerminationMessage(last.message);
  if (!parsed.ok) throw new Error(`${parsed.reason}: ${last.message}`);
  expect(parsed.value).toMatchObject({ ...told, provisional: false, attempt: last.ledger.attempt });
  expect(supervisor).toMatch(PROGRAMS[form]);
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
  if (hasTimeToSave(cause) && isReported(bare)) expect(bare.exitCode).toBe(0);
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
  if (hasTimeToSave(cause)) expectFlush(supervised, ledger);
  expectWords(cause, supervised, ledger);
}

/** Whoever was told to end knows how long it has, as far as that can be known from inside a pod. */
function expectBelief(cause: Cause, { notice, deadline, decision }: Attempt): void {
  if (cause.grace === 'none') expect({ notice, deadline, decision }).toEqual({ notice: null, deadline: null, decision: null });
  if (deadline === null) return;
  expect(notice).toMatchObject({ cause: 'sigterm', terminating: true, source: 'signal' });
  expect(deadline.graceMs, JSON.stringify(deadline)).toBe((cause.believesSeconds ?? GRACE_SECONDS) * 1000);
  if (decision !== null) expect(decision.numbers.leftMs).toBeLessThanOrEqual(deadline.graceMs);
}

/** It goes on after the last good step: the one where it was interrupted if the last save was made, else the one of the cadence. */
function expectSaved({ resumedWith }: Outcome, { decision, flush, end }: Attempt): void {
  expect([SAVED_STEP + 1, HELD_STEP + 1]).toContain(resumedWith);
  if (flush?.outcome === 'made') expect(resumedWith).toBe(HELD_STEP + 1);
  if (decision?.outcome === 'keep-last-good') expect(resumedWith).toBe(SAVED_STEP + 1);
  if (end !== null) expect(resumedWith).toBeGreaterThanOrEqual((end.lastGoodStep ?? -1) + 1);
}

/** A save takes a fraction of a second, and half a minute at least is given. */
function hasTimeToSave({ grace }: Cause): boolean {
  return grace === 'pod' || grace === 'node';
}

/** Who has the time saves where it was interrupted, and that is what the next one goes on from. */
function expectFlush({ resumedWith }: Outcome, { decision, flush, end }: Attempt): void {
  expect(decision).toMatchObject({ outcome: 'flush' });
  expect(flush).toMatchObject({ outcome: 'made', step: HELD_STEP });
  expect(end).toMatchObject({ lastGoodStep: HELD_STEP });
  expect(resumedWith).toBe(HELD_STEP + 1);
}

/** The exit code and the ledger tell the same end; who was killed from outside may have told less, and nothing else. */
function expectWords(cause: Cause, outcome: Outcome, attempt: Attempt): void {
  const { exitCode, message } = outcome;
  const { notice, deadline, trainer, end } = attempt;
  const told = endOf(cause);
  if (end !== null) expect(end).toMatchObject(told);
  if (cause.grace === 'none' && trainer !== null) expect(trainer).toMatchObject({ signal: 'SIGKILL', saidFinished: false });
  if (exitCode === INTERRUPTED) for (const event of [notice, deadline]) expect(event).not.toBeNull();
  if (hasLastWord(cause, outcome)) {
    for (const event of [trainer, end]) expect(event).not.toBeNull();
    expect(JSON.parse(message)).toMatchObject({ provisional: false });
  }
  if (message !== '' && isReported(outcome)) expectMessage(message, told, attempt);
}

/** Whoever ends with its own exit code has told all before, and so has one whose trainer alone was killed for its memory. */
function hasLastWord({ grace }: Cause, { exitCode }: Outcome): boolean {
  return exitCode === INTERRUPTED || (grace === 'none' && exitCode !== null && OUTLIVES_OOM);
}

/** So does the termination message: the last one where there was an end, and at least the one that is left at the notice where there is any. */
function expectMessage(message: string, told: ReturnType<typeof endOf>, { attempt, flush, end }: Attempt): void {
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
