import { expect } from 'vitest';
import { parseTerminationMessage } from '../../../src/domain/exit/termination-message.ts';
import type { Cause } from './cause.ts';
import { cgroupVersion } from '../cluster/cgroups.ts';
import type { Attempt } from './attempt.ts';
import type { Outcome } from './interrupted-run.ts';
import { LONG_GRACE_SECONDS } from './measured-grace.ts';
import { type Form, GRACE_SECONDS, type Manner, STUBBORN_GRACE_SECONDS, isSupervised } from './training-job.ts';

/** Far longer than an end without grace takes, and far shorter than the grace of pods and nodes. */
const LITTLE_SECONDS = 4;
/** The exit code of an interrupted run that can resume. */
const INTERRUPTED = 143;
/** The last regular save, and the step at which the trainer waits. */
const [SAVED_STEP, HELD_STEP] = [400, 410];
/**
 * With cgroup v2 the kubelet lets the kernel kill a container as a whole (`memory.oom.group`), so
 * no process in it can report the end.
 */
const OUTLIVES_OOM = cgroupVersion() === 1;
/**
 * The program of the process that started the trainer: the image's single executable, or Node from
 * the mounted tree.
 */
const PROGRAMS: Readonly<Record<Form, RegExp>> = { binary: /^\/opt\/holdfast$/, tree: /^\/opt\/tree\/.*\/node$/ };

/**
 * Waits for all promises even if one fails. Work that is still running would disturb the next test.
 */
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

/**
 * Expects that the attempt that finished the training reports it, in the ledger and in the
 * container's message, and ran under this form of the supervisor.
 */
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

/**
 * Expects that the marks on the pod show the cause. The Job counts the pod only if no mark says
 * that it was interrupted.
 */
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
 * The kubelet calls such a pod failed at once, with a reason of its own. A busy kubelet sends this
 * before it sends the exit code (the trace `node-critical-pod-exit-0` has pods that failed and then
 * succeeded). A Job that looks in between counts a failure without an exit code.
 */
function mayBeCalledFailedFirst({ marks }: Cause): boolean {
  return marks.podReason !== null;
}

/**
 * Judges the control that saves and exits with 0. A killed control is started again and finishes. A
 * control that exited with 0 half-way is started again only if the Job does not count it. With the
 * pod's whole grace, or the grace that a node grants, it exits with 0, unless its container was
 * removed before its end was reported.
 */
function expectControl(cause: Cause, bare: Outcome, twin: string): void {
  if (hasTimeToSave(cause) && isReported(bare)) expect(bare.exitCode).toBe(0);
  const isStartedAgain = mayBeCalledFailedFirst(cause) && bare.nextNode !== null;
  const isLost = bare.exitCode === 0 && cause.exitWithZero === 'complete' && !isStartedAgain;
  expect(bare).toMatchObject({ job: 'Complete', result: isLost ? null : twin });
  if (cause.exitWithZero === 'complete') expect(bare.phase).toBe(bare.exitCode === 0 ? 'Succeeded' : 'Failed');
}

/**
 * Whether the container's end was reported. An evicting kubelet may remove the container before it
 * reads the exit code; 137 and the message are then the kubelet's own.
 */
function isReported({ containerReason }: Outcome): boolean {
  return containerReason !== 'ContainerStatusUnknown';
}

/**
 * Judges the control without a trap. As the container's first process it does not receive SIGTERM.
 * It is killed and loses its unsaved work.
 */
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

/** A supervisor that got a notice knows how long it has, as far as a pod can know. */
function expectBelief(cause: Cause, { notice, deadline, decision }: Attempt): void {
  if (cause.grace === 'none') expect({ notice, deadline, decision }).toEqual({ notice: null, deadline: null, decision: null });
  if (deadline === null) return;
  expect(notice).toMatchObject({ cause: 'sigterm', terminating: true, source: 'signal' });
  expect(deadline.graceMs, JSON.stringify(deadline)).toBe((cause.believesSeconds ?? GRACE_SECONDS) * 1000);
  if (decision !== null) expect(decision.numbers.leftMs).toBeLessThanOrEqual(deadline.graceMs);
}

/**
 * It goes on after the last good step: the one where it was interrupted if the last save was made,
 * else the one of the cadence.
 */
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

/** A run with enough time saves the step of the interruption, and the next pod resumes from it. */
function expectFlush({ resumedWith }: Outcome, { decision, flush, end }: Attempt): void {
  expect(decision).toMatchObject({ outcome: 'flush' });
  expect(flush).toMatchObject({ outcome: 'made', step: HELD_STEP });
  expect(end).toMatchObject({ lastGoodStep: HELD_STEP });
  expect(resumedWith).toBe(HELD_STEP + 1);
}

/**
 * The exit code and the ledger must report the same end. A supervisor that was killed may have
 * reported less, but nothing different.
 */
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

/**
 * Whether the supervisor reported everything. It did if it ended with its own exit code, or if only
 * its trainer was killed for memory.
 */
function hasLastWord({ grace }: Cause, { exitCode }: Outcome): boolean {
  return exitCode === INTERRUPTED || (grace === 'none' && exitCode !== null && OUTLIVES_OOM);
}

/**
 * The termination message must agree too: the final one if there was an end, or the provisional one
 * from the notice.
 */
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

/** Wide bounds that hold on any busy machine. Another test measures what a node really grants. */
export function expectGrace(cause: Cause, seconds: number | null): void {
  if (cause.grace === 'none') expect(seconds).toBeNull();
  else if (cause.grace === 'short') expect(seconds).toBeLessThan(STUBBORN_GRACE_SECONDS);
  else if (cause.grace !== 'unsure') expect(seconds).toBeGreaterThan(LITTLE_SECONDS);
  if (cause.grace === 'node') expect(seconds).toBeLessThan(LONG_GRACE_SECONDS);
}
