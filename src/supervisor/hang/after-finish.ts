import { formatDuration } from '../../core/duration.ts';
import { type HangRules, lingerLimitMs } from '../../domain/hang/hang.ts';
import type { Measurements } from '../session/measurements.ts';
import { askForStacks, type HangWatch, sleeps } from './watch-progress.ts';

/** What the watch over a finished trainer looks at, and where it reports. */
export interface AfterFinishWatch extends Omit<HangWatch, 'rules' | 'session' | 'trainer' | 'mayRestart'> {
  readonly session: Pick<HangWatch['session'], 'finished' | 'finishedMs' | 'ranks'> & {
    readonly measured: Pick<Measurements, 'quietSinceMs'>;
  };
  readonly trainer: Pick<HangWatch['trainer'], 'living' | 'endRest'>;
  /** When the supervisor takes the trainer to hang; null: it only reports it. */
  readonly rules: HangRules | null;
}

/** The state of a trainer that keeps running after it reported the run as finished. */
export interface AfterFinish {
  /** The supervisor ended the trainer for this, so the trainer's own exit means nothing. */
  wasEnded: boolean;
}

/**
 * How long after its last message a trainer may usually take to upload, evaluate and release its
 * processes.
 */
const USUAL_MS = 60_000;
const PAUSE_MS = 1000;
/** The trainer may still close its files. */
const END_MS = 10_000;

/**
 * Watches whether a finished trainer exits, until `signal` is aborted. If it keeps running, the
 * supervisor reports that once. With hang detection on, it counts as hung after the limit; with
 * `--on-hang=restart` the supervisor then ends it.
 */
export function watchAfterFinish(watch: AfterFinishWatch): AfterFinish {
  const linger = { wasEnded: false };
  look(watch, linger).catch((thrown: unknown) => watch.log.complain(thrown));
  return linger;
}

async function look(watch: AfterFinishWatch, linger: AfterFinish): Promise<void> {
  const { session, clock, signal, rules } = watch;
  await session.finished;
  let [isTold, isReported] = [false, false];
  do {
    const sinceMs = quietSince(watch);
    if (sinceMs === null) continue;
    const quietMs = clock.monotonic() - sinceMs;
    if (!isTold && quietMs >= USUAL_MS) tell(watch, quietMs);
    isTold ||= quietMs >= USUAL_MS;
    if (isReported || rules === null || quietMs <= lingerLimitMs(rules)) continue;
    isReported = true;
    report(watch, quietMs, lingerLimitMs(rules));
    if (watch.onHang === 'restart') return end(watch, linger);
  } while (await sleeps(clock, PAUSE_MS, signal));
}

/**
 * When the trainer reported the run as finished, or later finished something long. Null while it is
 * busy, or when other ranks have taken its place.
 */
function quietSince({ session: { measured, finishedMs } }: AfterFinishWatch): number | null {
  return finishedMs === null || measured.quietSinceMs === null ? null : Math.max(finishedMs, measured.quietSinceMs);
}

function tell({ log }: AfterFinishWatch, quietMs: number): void {
  const sentence = `the trainer said ${formatDuration(quietMs)} ago that the run is finished, but it has not ended yet; Holdfast waits for it`;
  log.say(sentence);
  log.record({ kind: 'note', level: 'info', code: null, sentence });
}

function report(watch: AfterFinishWatch, quietMs: number, limitMs: number): void {
  const sentence = `it has not ended for ${formatDuration(quietMs)} since it said that the run is finished; ${askForStacks(watch)}`;
  watch.log.record({ kind: 'hang', quietMs, limitMs, sentence });
  watch.log.shout(`warning: the trainer seems to hang: ${sentence}`);
}

/** The run is finished, so the supervisor starts no new attempt. */
async function end({ trainer, clock, log }: AfterFinishWatch, linger: AfterFinish): Promise<void> {
  log.warn('the trainer reported the end of the run and then hung; Holdfast ends it, and the run is finished');
  linger.wasEnded = true;
  await trainer.endRest(clock, END_MS);
}
