import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import type { HangRules, HangVerdict } from '../../domain/hang/hang.ts';
import type { RunLog } from '../base/run-log.ts';
import type { TrainerSession } from '../session/trainer-session.ts';
import type { Trainer } from '../process/trainer.ts';
import type { OnHang } from '../settings/run-options.ts';
import { dumpStacks } from './dump-stacks.ts';

/** What the watch for hangs looks at, and where it reports. */
export interface HangWatch {
  readonly rules: HangRules;
  readonly onHang: OnHang;
  readonly session: WatchedSession;
  readonly trainer: Pick<Trainer, 'living' | 'killAll' | 'endRest'>;
  readonly clock: Clock;
  readonly log: Pick<RunLog, 'say' | 'shout' | 'warn' | 'record' | 'complain'>;
  readonly signal: AbortSignal;
  /** Whether the supervisor would start the trainer again if it ended now. */
  readonly mayRestart: () => boolean;
}

/**
 * What a hang is judged by: the attached ranks, whether they save, and when they last made a step.
 */
interface WatchedSession extends Pick<TrainerSession, 'ranks' | 'saidFinished' | 'finished' | 'finishedMs'> {
  readonly coordinator: Pick<TrainerSession['coordinator'], 'phase' | 'isHolding'>;
  readonly measured: Pick<TrainerSession['measured'], 'judgeHang' | 'quietSinceMs' | 'lastGoodStep'>;
}

interface StackWatch {
  readonly session: Pick<TrainerSession, 'ranks'>;
  readonly trainer: Pick<Trainer, 'living'>;
}

/** How often the watch looks, which bounds how late it notices a hang; once a second is enough. */
const MOST_PAUSE_MS = 10_000;
const LEAST_PAUSE_MS = 100;
/**
 * How long to wait for the stacks before the kill. A stalled process answers its signal in
 * milliseconds.
 */
const DUMP_MS = 2000;

/**
 * Watches whether the trainer still makes steps, until `signal` is aborted. Each hang is reported
 * once; a hang after more steps is a new one.
 */
export async function watchProgress(watch: HangWatch): Promise<void> {
  const { clock, log, signal, session } = watch;
  let wasHung = false;
  for (;;) {
    const verdict = judge(watch);
    if (verdict !== null && verdict.isHung && !wasHung) {
      report(watch, verdict);
      if (watch.onHang === 'restart' && (await restart(watch))) return;
    }
    if (wasHung && verdict?.isHung !== true && session.ranks.count > 0) log.say('the trainer makes steps again');
    wasHung = verdict?.isHung === true;
    if (!(await sleeps(clock, pauseFor(verdict), signal))) return;
  }
}

/**
 * How the trainer's progress is judged; null when it cannot be. Without the SDK there are no steps,
 * and a finished trainer makes none. A trainer that waits for the supervisor cannot make one.
 */
export function judge({ session, rules, clock }: Pick<HangWatch, 'session' | 'rules' | 'clock'>): HangVerdict | null {
  if (session.ranks.count === 0 || session.saidFinished) return null;
  const { phase, isHolding } = session.coordinator;
  if (isHolding && (phase === 'sealing' || phase === 'tidying')) return null;
  return session.measured.judgeHang(clock.monotonic(), rules, phase === 'gathering' || phase === 'writing');
}

function pauseFor(verdict: HangVerdict | null): number {
  if (verdict === null || verdict.limitMs === null || verdict.isHung) return 1000;
  return Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, verdict.limitMs - verdict.quietMs));
}

function report(watch: HangWatch, { quietMs, limitMs, sentence }: HangVerdict): void {
  const { log } = watch;
  const stacks = askForStacks(watch);
  log.record({ kind: 'hang', quietMs, limitMs, sentence: `${sentence}; ${stacks}` });
  log.shout(`warning: the trainer seems to hang: ${sentence}; ${stacks}`);
}

/** Asks the ranks to write their stacks, and describes for people whether they can. */
export function askForStacks({ session, trainer }: StackWatch): string {
  const asked = dumpStacks(session.ranks.all, trainer);
  if (asked === 0) return 'no rank can show its stacks';
  return `${asked === 1 ? 'one rank was' : `${asked} ranks were`} asked for the stacks of all threads`;
}

/**
 * Ends the trainer as after a crash, unless it makes steps again while its stacks are written.
 * Returns true when there is nothing left to watch. Sealed checkpoints count as progress, and the
 * restart budget decides what follows.
 */
async function restart(watch: HangWatch): Promise<boolean> {
  const { trainer, clock, log, signal, mayRestart } = watch;
  if (!(await sleeps(clock, DUMP_MS, signal))) return true;
  // An unread step in the socket counts too: the event loop reads sockets before it runs this
  // callback.
  await setImmediate();
  await setImmediate();
  if (signal.aborted) return true;
  if (judge(watch)?.isHung !== true) {
    log.say('the trainer is not killed: it gave a sign of life while its stacks were written');
    return false;
  }
  const next = mayRestart()
    ? 'to be started again from the last good checkpoint'
    : 'and not started again: no restart is left (--restarts)';
  log.warn(`the trainer hangs and is killed, ${next}`);
  await trainer.killAll(clock);
  return true;
}

/** Resolves to false when the sleep was cut short. */
export async function sleeps(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, { signal });
    return true;
  } catch {
    return false;
  }
}
