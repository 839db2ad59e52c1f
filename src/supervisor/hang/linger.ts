import { formatDuration } from '../../core/duration.ts';
import { type HangRules, lingerLimitMs } from '../../domain/hang.ts';
import type { Measurements } from '../measurements.ts';
import { askForStacks, type HangWatch, sleeps } from './watch.ts';

export interface LingerWatch extends Omit<HangWatch, 'rules' | 'life' | 'trainer' | 'mayRestart'> {
  readonly life: Pick<HangWatch['life'], 'finished' | 'finishedMs' | 'ranks'> & { readonly measured: Pick<Measurements, 'quietSinceMs'> };
  readonly trainer: Pick<HangWatch['trainer'], 'living' | 'endRest'>;
  /** Null: it is only told. */
  readonly rules: HangRules | null;
}

/** A trainer that has said that the run is finished, and goes on. */
export interface Linger {
  /** It was ended for that, so that its own end means nothing. */
  wasEnded: boolean;
}

/** A trainer uploads, evaluates and lets go of its processes after its last word; this long nobody wonders. */
const USUAL_MS = 60_000;
const PAUSE_MS = 1000;
/** It may still close its files. */
const END_MS = 10_000;

/**
 * Looks whether a trainer ends that has said that the run is finished, until `signal` is aborted. That it has not is told once; where hangs are looked for it is
 * one after their limit, and ended where those are.
 */
export function watchLingering(watch: LingerWatch): Linger {
  const linger = { wasEnded: false };
  look(watch, linger).catch((thrown: unknown) => watch.book.complain(thrown));
  return linger;
}

async function look(watch: LingerWatch, linger: Linger): Promise<void> {
  const { life, clock, signal, rules } = watch;
  await life.finished;
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

/** Since it said so, or said later that it is done with something long; null while it is not, or where others have come in its place. */
function quietSince({ life: { measured, finishedMs } }: LingerWatch): number | null {
  return finishedMs === null || measured.quietSinceMs === null ? null : Math.max(finishedMs, measured.quietSinceMs);
}

function tell({ book }: LingerWatch, quietMs: number): void {
  const sentence = `the trainer said ${formatDuration(quietMs)} ago that the run is finished, and has not ended yet; it is waited for`;
  book.say(sentence);
  book.record({ kind: 'note', level: 'info', code: null, sentence });
}

function report(watch: LingerWatch, quietMs: number, limitMs: number): void {
  const sentence = `it has not ended for ${formatDuration(quietMs)} since it said that the run is finished; ${askForStacks(watch)}`;
  watch.book.record({ kind: 'hang', quietMs, limitMs, sentence });
  watch.book.shout(`warning: the trainer seems to hang: ${sentence}`);
}

/** The run is finished, so that there is nothing to start again. */
async function end({ trainer, clock, book }: LingerWatch, linger: Linger): Promise<void> {
  book.warn('the trainer hangs after its last word and is ended; the run is finished');
  linger.wasEnded = true;
  await trainer.endRest(clock, END_MS);
}
