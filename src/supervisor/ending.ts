import { formatDuration } from '../core/duration.ts';
import { type Deadline, explainDeadline } from '../domain/effective-grace.ts';
import { decideFlush, type FlushDecision, type FlushFacts, RESERVE_MS, type StagedSave } from '../domain/flush-decision.ts';
import type { Notice } from '../domain/notice.ts';
import type { Prediction } from '../domain/prediction.ts';
import type { TerminationMessage } from '../domain/termination-message.ts';
import { beside } from './beside.ts';
import type { Book } from './book.ts';
import { untilHopeless } from './flush-watch.ts';
import type { Life, LifeOptions } from './life.ts';
import { labelOf, type Notices } from './notices.ts';
import type { SaveOutcome } from './save-record.ts';
import { tellSuccessor } from './tell-successor.ts';
import type { Trainer } from './trainer.ts';

export type FlushOutcome = NonNullable<TerminationMessage['flush']>;
type MadeOrNot = Exclude<FlushOutcome, 'none'>;

export interface EndingOptions extends Pick<LifeOptions, 'store' | 'attempt' | 'book'> {
  readonly life: Life;
  readonly trainer: Trainer;
  readonly notices: Notices;
  /** Resolves when the trainer has ended and everything that it said is heard. */
  readonly gone: Promise<void>;
  /** Leaves a provisional word, before anything can go wrong. */
  readonly leaveWord: () => void;
  /** Aborted when the end is about to be told: from then on nothing else is. */
  readonly told: AbortSignal;
}

type Deciding = Pick<EndingOptions, 'life' | 'store' | 'book' | 'notices'>;

/** The trainer is killed this long before the deadline, so that there is time to tell. */
const KILL_BEFORE_MS = RESERVE_MS / 2;
/** Sealing what was staged, perhaps what the trainer began right then, and the flush. */
const ROUNDS = 3;
/** After the last byte come syncs and the commit. */
const LAST_SHARE = 0.1;

/**
 * Ends the trainer after a notice. With the SDK attached nothing reaches the trainer before the flush has ended or was refused: a SIGTERM that
 * comes to data-loader workers or to a launcher first would destroy it. Without it the trainer is told at once. One that has finished has nothing to
 * save, and all of the grace to end by itself. What lives shortly before the deadline is killed. Resolves when the trainer's own process has ended.
 */
export async function endTrainer(notice: Notice, options: EndingOptions): Promise<FlushOutcome> {
  const { life, trainer, notices, book, leaveWord } = options;
  leaveWord();
  const decision = announce(options);
  publish(options);
  notices.follow(() => beside(book, () => tellNearer(options)), options.told);
  const over = new AbortController();
  void options.gone.then(() => over.abort());
  const outcome = decision === null ? 'none' : await flush(options, decideAnew(options, decision), over.signal);
  if (!life.saidFinished) trainer.tell(life.ranks.count === 0 && outcome === 'none' ? signalFor(notice) : 'SIGTERM');
  await within(notices.untilDeadline(KILL_BEFORE_MS, over.signal));
  if (trainer.end === null) {
    book.warn('the trainer still lives shortly before the deadline and is killed');
    await trainer.killAll(options.store.clock);
    await options.gone;
  }
  return outcome;
}

/** The deadline, and what is decided for the time until then: recorded first, because whoever reads along may keep us waiting. */
export function announce(options: Deciding): FlushDecision | null {
  const { life, store, book, notices } = options;
  const { deadline } = notices;
  if (deadline !== null) recordDeadline(book, deadline);
  const decision = life.ranks.count === 0 || life.saidFinished ? null : decide(options);
  if (decision !== null) recordDecision(book, decision);
  if (deadline !== null) book.say(explainDeadline(deadline, store.clock.now()));
  if (decision !== null) book.say(decision.sentence);
  return decision;
}

/**
 * The deadline has come nearer after it was announced: who waits for it is woken by itself, and everybody else must know. A replacement is not told: that would
 * wait for a disk on which a flush is being written, and the later one that it knows does no harm, since the end is published, too.
 */
function tellNearer(options: EndingOptions): void {
  const { store, book, notices, leaveWord } = options;
  const { deadline } = notices;
  if (deadline === null) return;
  leaveWord();
  recordDeadline(book, deadline);
  book.say(explainDeadline(deadline, store.clock.now()));
}

function recordDeadline(book: Book, { deadlineMs, graceMs, confidence, reasons }: Deadline): void {
  book.record({ kind: 'deadline', deadlineMs, graceMs, confidence, reasons });
}

/** A replacement of this attempt must know how long to wait, before anything is begun. The disk is waited for, so this follows the decision. */
function publish(options: EndingOptions): void {
  const { deadline } = options.notices;
  if (deadline !== null) tellSuccessor(options, deadline.deadlineMs);
}

function signalFor({ cause }: Notice): NodeJS.Signals {
  return cause === 'ctrl-c' ? 'SIGINT' : 'SIGTERM';
}

async function flush(options: EndingOptions, first: FlushDecision, over: AbortSignal): Promise<MadeOrNot> {
  const { life, store, book, notices } = options;
  const noticedMs = store.clock.monotonic();
  let outcome: MadeOrNot = 'refused';
  let decision = first;
  // Of what led to the outcome: what is tried before or after it, or refused, takes its own time.
  let times = { tookMs: 0, predictedMs: medianOf(decision) };
  for (let round = 1; decision.outcome !== 'keep-last-good'; round++) {
    // No save begins before the one that is being sealed is done.
    const isFlush = decision.outcome === 'flush' && life.desk.phase !== 'sealing';
    const startedMs = store.clock.monotonic();
    const predictedMs = isFlush ? medianOf(decision) : medianOfRest(life);
    outcome = isFlush ? await makeFlush(options, over) : await sealStaged(options, over, noticedMs);
    times = { tookMs: store.clock.monotonic() - startedMs, predictedMs };
    if (outcome !== 'staged-sealed' || round === ROUNDS || over.aborted) break;
    // What was staged is safe; what is left of the time may do for a flush.
    decision = tell(book, decide(options));
  }
  const allMs = store.clock.monotonic() - noticedMs;
  const leftMs = notices.deadline === null ? null : notices.deadline.deadlineMs - store.clock.now();
  const sentence = `flush ${outcome} after ${formatDuration(allMs)}`;
  book.record({ kind: 'flush-ended', outcome, step: life.measured.lastGoodStep, ...times, leftMs, sentence });
  return outcome;
}

function medianOf({ numbers }: FlushDecision): number | null {
  return numbers.measured ? numbers.medianMs : null;
}

/** Of sealing what lies staged; null: nobody has timed a seal yet. */
function medianOfRest(life: Life): number | null {
  return life.measured.seal === null ? null : sealRest(life).medianMs;
}

/** What a slow disk has taken of the time may leave too little for what was decided. */
function decideAnew(options: EndingOptions, before: FlushDecision): FlushDecision {
  const decision = decide(options);
  return decision.outcome === before.outcome ? before : tell(options.book, decision);
}

function tell(book: Book, decision: FlushDecision): FlushDecision {
  recordDecision(book, decision);
  book.say(decision.sentence);
  return decision;
}

function recordDecision(book: Book, { outcome, sentence, numbers }: FlushDecision): void {
  book.record({ kind: 'decision', outcome, sentence, numbers });
}

function decide(options: Deciding): FlushDecision {
  return decideFlush(flushFacts(options));
}

export function flushFacts({ life, store, notices }: Deciding): FlushFacts {
  const { measured, desk } = life;
  const nowMs = store.clock.now();
  const { deadlineMs, confidence } = notices.deadline ?? { deadlineMs: nowMs, confidence: 'guess' as const };
  return {
    nowMs,
    deadlineMs,
    confidence,
    step: measured.step,
    lastGoodStep: measured.lastGoodStep,
    unsavedMs: measured.unsavedMs(store.clock.monotonic()),
    stepRest: measured.stepRest,
    busyMs: measured.busyMs(store.clock.monotonic()),
    save: measured.write,
    seal: measured.seal,
    agreementMs: life.ranks.agreementMs,
    staged: desk.phase === 'sealing' ? stagedSave(life) : null,
    // Progress is told with some delay, so that a step that equals the last good one proves nothing; none at all does.
    refusal: measured.step === null && desk.phase === 'idle' ? 'no step was made yet' : null,
  };
}

export function stagedSave(life: Life): StagedSave {
  return { step: life.desk.step ?? 0, seal: sealRest(life) };
}

/** How long it takes until what lies staged is sealed, by what is left of it; nothing when nobody has timed a seal yet: it goes on already. */
function sealRest({ measured: { seal }, desk: { progress } }: Life): Prediction {
  if (seal === null) return { medianMs: 0, p95Ms: 0, samples: 0 };
  const share = progress?.kind === 'sealing' && progress.total > 0 ? 1 - progress.done / progress.total : 1;
  const rest = Math.max(LAST_SHARE, share);
  return { medianMs: seal.medianMs * rest, p95Ms: seal.p95Ms * rest, samples: seal.samples };
}

async function makeFlush(options: EndingOptions, over: AbortSignal): Promise<MadeOrNot> {
  const { life } = options;
  const whenSealed = isBehind(life) ? 'staged-sealed' : 'made';
  const saved = untilSaved(options, over);
  // A save that the ranks are writing is the flush.
  if (life.desk.phase === 'idle' || life.desk.phase === 'tidying') life.ask('notice');
  const outcome = await saved;
  if (outcome !== null) return outcome.isSealed ? whenSealed : 'missed';
  return finishOrAbandon(options, over, whenSealed);
}

/** True for a save that is written in the background while the trainer has gone on: what was done since is not in it. */
function isBehind({ desk, measured: { step } }: Life): boolean {
  return desk.phase === 'writing' && desk.step !== null && step !== null && step > desk.step;
}

async function sealStaged(options: EndingOptions, over: AbortSignal, noticedMs: number): Promise<MadeOrNot> {
  const outcome = await untilSaved(options, over);
  // A save that the trainer began by itself after the notice is as good as one it was asked for.
  if (outcome !== null) return outcome.isSealed ? (outcome.begunMs >= noticedMs ? 'made' : 'staged-sealed') : 'missed';
  return finishOrAbandon(options, over, 'staged-sealed');
}

/** The deadline came, or the trainer ended. What it had handed over by then is still sealed, as long as there is time. */
async function finishOrAbandon(options: EndingOptions, over: AbortSignal, whenSealed: MadeOrNot): Promise<MadeOrNot> {
  const { life } = options;
  if (over.aborted && life.desk.phase === 'sealing') {
    const outcome = await untilSaved(options, new AbortController().signal);
    if (outcome !== null) return outcome.isSealed ? whenSealed : 'missed';
  }
  life.ranks.relax();
  life.desk.abandon('there was no time left for the save');
  return over.aborted ? 'missed' : 'abandoned';
}

/** What becomes of the next save; null when the time is up or will not do for it, or when `over` is aborted. */
async function untilSaved({ life, notices, store, book }: EndingOptions, over: AbortSignal): Promise<SaveOutcome | null> {
  const stop = new AbortController();
  const signal = AbortSignal.any([over, stop.signal]);
  const tooLate = [notices.untilDeadline(RESERVE_MS, signal), untilHopeless({ life, notices, store, book, signal })];
  try {
    return await firstOf(life.nextSave(), Promise.race(tooLate));
  } finally {
    stop.abort();
  }
}

/** The first result, or null when the bound was reached or cut short first. */
async function firstOf<T>(result: Promise<T>, bound: Promise<void>): Promise<T | null> {
  return Promise.race([
    result,
    bound.then(
      () => null,
      () => null,
    ),
  ]);
}

async function within(bound: Promise<void>): Promise<void> {
  try {
    await bound;
  } catch {
    // The trainer has ended, which is what the bound was for.
  }
}

/** One sentence for the log. */
export function noticeSentence(notice: Notice): string {
  return `notice: ${labelOf(notice)}${notice.detail === null ? '' : ` (${notice.detail})`}`;
}
