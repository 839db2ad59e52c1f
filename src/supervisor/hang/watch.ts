import type { Clock } from '../../core/clock.ts';
import type { HangRules, HangVerdict } from '../../domain/hang.ts';
import type { Book } from '../book.ts';
import type { Life } from '../life.ts';
import type { Trainer } from '../trainer.ts';
import { dumpStacks } from './dump-stacks.ts';

/** What is done about a hang, besides telling it. */
export type OnHang = 'report' | 'restart';

export interface HangWatch {
  readonly rules: HangRules;
  readonly onHang: OnHang;
  readonly life: Life;
  readonly trainer: Trainer;
  readonly clock: Clock;
  readonly book: Book;
  readonly signal: AbortSignal;
  /** Whether a trainer that ends now is started again. */
  readonly mayRestart: () => boolean;
}

interface StackWatch {
  readonly life: Pick<Life, 'ranks'>;
  readonly trainer: Pick<Trainer, 'living'>;
}

/** How soon a hang is noticed after its limit, at the latest; nothing needs to be looked at more often than the second. */
const MOST_PAUSE_MS = 10_000;
const LEAST_PAUSE_MS = 100;
/** A process that stands still answers its signal in milliseconds; its stacks should be out before it is killed. */
const DUMP_MS = 2000;

/** Looks whether the trainer still makes steps, until `signal` is aborted. A hang is told once; after more steps the next one is another. */
export async function watchForHangs(watch: HangWatch): Promise<void> {
  const { clock, book, signal, life } = watch;
  let wasHung = false;
  for (;;) {
    const verdict = judge(watch);
    if (verdict !== null && verdict.isHung && !wasHung) {
      report(watch, verdict);
      if (watch.onHang === 'restart') return restart(watch);
    }
    if (wasHung && verdict?.isHung !== true && life.ranks.count > 0) book.say('the trainer makes steps again');
    wasHung = verdict?.isHung === true;
    if (!(await sleeps(clock, pauseFor(verdict), signal))) return;
  }
}

/** Null where nobody can tell: without the SDK there are no steps, after the last there need not be one, and who waits for us cannot make one. */
export function judge({ life, rules, clock }: Pick<HangWatch, 'life' | 'rules' | 'clock'>): HangVerdict | null {
  if (life.ranks.count === 0 || life.saidFinished) return null;
  const { phase, isHolding } = life.desk;
  if (isHolding && (phase === 'sealing' || phase === 'tidying')) return null;
  return life.measured.judgeHang(clock.monotonic(), rules, phase === 'gathering' || phase === 'writing');
}

function pauseFor(verdict: HangVerdict | null): number {
  if (verdict === null || verdict.limitMs === null || verdict.isHung) return 1000;
  return Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, verdict.limitMs - verdict.quietMs));
}

function report(watch: HangWatch, { quietMs, limitMs, sentence }: HangVerdict): void {
  const { book } = watch;
  const stacks = askForStacks(watch);
  book.record({ kind: 'hang', quietMs, limitMs, sentence: `${sentence}; ${stacks}` });
  book.shout(`warning: the trainer seems to hang: ${sentence}; ${stacks}`);
}

/** Has the ranks show where they stand; whether they can, for people. */
export function askForStacks({ life, trainer }: StackWatch): string {
  const asked = dumpStacks(life.ranks.all, trainer);
  if (asked === 0) return 'no rank can show its stacks';
  return `${asked === 1 ? 'one rank was' : `${asked} ranks were`} asked for the stacks of all threads`;
}

/** The trainer ends as by an error: what was sealed counts, and the budget of restarts decides. */
async function restart({ trainer, clock, book, signal, mayRestart }: HangWatch): Promise<void> {
  if (!(await sleeps(clock, DUMP_MS, signal))) return;
  const next = mayRestart()
    ? 'to be started again from the last good checkpoint'
    : 'and not started again: no restart is left (--restarts)';
  book.warn(`the trainer hangs and is killed, ${next}`);
  await trainer.killAll(clock);
}

/** False when the time was cut short. */
export async function sleeps(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, { signal });
    return true;
  } catch {
    return false;
  }
}
