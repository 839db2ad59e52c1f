import type { Attempt } from '../checkpoint/store/attempt.ts';
import type { OpenStore } from '../checkpoint/store/store.ts';
import type { Clock } from '../core/clock.ts';
import { EXIT } from '../core/exit-codes.ts';
import { installedFile } from '../core/installation.ts';
import { HoldfastError } from '../core/errors.ts';
import type { InterruptedPeer, RunEnd } from '../domain/exit-contract.ts';
import { RESERVE_MS } from '../domain/flush-decision.ts';
import { begin } from './begin.ts';
import { bounded } from './bounded.ts';
import { beside } from './beside.ts';
import type { Book } from './book.ts';
import { keepCadence } from './cadence-keeper.ts';
import { endTrainer, type FlushOutcome } from './ending.ts';
import { trainerEnvironment, withResumeArgument } from './environment.ts';
import type { Resume } from './find-resume.ts';
import { type Linger, watchLingering } from './hang/linger.ts';
import { type HangWatch, watchForHangs } from './hang/watch.ts';
import { interruptedPeer } from './gang/interrupted-peer.ts';
import { type Begun, meet } from './gang/meet.ts';
import { leaveProvisional, writeEnd } from './last-words.ts';
import { Life } from './life.ts';
import type { Notices } from './notices.ts';
import type { RunOptions } from './options.ts';
import { endOrphans } from './orphans.ts';
import { tellOtherProgram } from './other-program.ts';
import { patience } from './patience.ts';
import { OneSeatEach } from './sdk/one-seat-each.ts';
import { SdkServer } from './sdk/server.ts';
import { makeSocketPlace, socketCandidates, type SocketPlace } from './sdk/socket-folder.ts';
import { watchOverdue } from './sealing/overdue.ts';
import type { Sealer } from './sealing/sealer.ts';
import type { Shipping } from './shipping/shipping.ts';
import type { Stage } from './staging/stage.ts';
import { Trainer } from './trainer.ts';
import { watchUnattached } from './unattached.ts';
import type { Watcher } from './watch/watcher.ts';
import type { prepareWatching } from './watch/watching.ts';

/** The life that goes on now, for whoever has something to tell it. */
export interface CurrentLife {
  life: Life | null;
  trainer: Trainer | null;
}

export interface LiveOptions {
  readonly options: RunOptions;
  readonly store: OpenStore;
  readonly book: Book;
  readonly notices: Notices;
  readonly current: CurrentLife;
  readonly sealer: Sealer;
  readonly stage: Stage | null;
  readonly shipping: Shipping | null;
  /** Told whenever a trainer has been started. */
  readonly onStarted: () => void;
  /** Told whenever a checkpoint was sealed. */
  readonly onSafe: () => void;
  /** Told whenever workers have made their first step. */
  readonly onFirstStep: (life: Life) => void;
  /** Told when the process will not end by itself: a thread waits for a disk that does not answer. */
  readonly cannotEnd: () => void;
  readonly gang: string;
  /** How many lives this process has had before. */
  readonly restart: number;
  /** Whether a life that ended with an error now, with this as its last good step, would be followed by another. */
  readonly mayRestart: (lastGoodStep: number | null) => boolean;
}

/** How a life ended, as the exit code and the budget see it. */
export interface LifeEnd extends RunEnd {
  readonly lastGoodStep: number | null;
}

/** How long a trainer that was replaced by a newer attempt, or what it left behind, may take to end. */
const REST_MS = 2000;
const FENCED_MS = 10_000;
/** Kept for telling how it ended. */
const TELL_MS = 100;

/** One attempt, from its number to its last words. */
export async function liveOnce(live: LiveOptions): Promise<LifeEnd> {
  const { options, store, notices } = live;
  if (notices.first !== null) return notStarted(null);
  const early = new AbortController();
  void notices.terminating.then(() =>
    early.abort(new HoldfastError('TERMINATED', { message: 'told to end before the trainer was started' })),
  );
  let attempt: Attempt;
  let resume: Resume | null;
  try {
    ({ attempt, resume } = await beginTogether(live, early.signal));
  } catch (thrown) {
    if (notices.first !== null) return notStarted(null);
    throw thrown;
  }
  const place = makeSocketPlace(socketCandidates(options.env), store.owner);
  try {
    return await withSocket(live, { attempt, resume, place });
  } finally {
    place.remove();
  }
}

/** The next attempt, and what it goes on from; with several nodes the first one finds it for all. */
async function beginTogether(live: LiveOptions, signal: AbortSignal): Promise<Begun> {
  const { options, store, book } = live;
  if (options.gang === null) return begin(live, live.gang, signal);
  const { gang } = options;
  const begun = await meet(store, {
    gang,
    begin: () => begin(live, `${gang.id}/${live.gang}`, signal),
    signal,
    say: (text) => book.say(text),
  });
  if (gang.nodeRank > 0) {
    await book.open(begun.attempt.attempt);
    await endOrphans(live, signal);
  }
  return begun;
}

interface Prepared {
  readonly attempt: Attempt;
  readonly resume: Resume | null;
  readonly place: SocketPlace;
}

async function withSocket(live: LiveOptions, prepared: Prepared): Promise<LifeEnd> {
  const { options, store, book, current, sealer, stage } = live;
  const fenced = Promise.withResolvers<HoldfastError>();
  const onSafe = (): void => {
    live.shipping?.note();
    live.onSafe();
  };
  const onLeft = (): void => current.trainer?.look();
  const tells = { onSafe, onFirstStep: live.onFirstStep, onFenced: fenced.resolve, onLeft };
  const life = new Life({ options, store, ...prepared, book, sealer, stage, ...tells });
  const server = await SdkServer.listen(prepared.place.path, new OneSeatEach(life));
  const [stop, over] = [new AbortController(), new AbortController()];
  let watcher: Watcher | null = null;
  try {
    recordStart(live, prepared);
    const watch = await prepareWatch(live, { attempt: prepared.attempt, measured: life.measured, onSafe, onFenced: fenced.resolve });
    const trainer = await startTrainer(live, prepared);
    watcher = beside(book, () => watch?.(trainer) ?? null);
    Object.assign(current, { life, trainer });
    if (leads(options)) beside(book, () => live.shipping?.begin(store));
    const cadence = { cadence: options.cadence, clock: store.clock, book, signal: stop.signal };
    // Of several nodes the first says when: a save that one node asks for is made on all of them.
    // A trainer that does not speak with us makes no saves, or keeps its own time.
    if (leads(options)) life.attached.then(() => keepCadence(life, cadence)).catch((thrown: unknown) => book.complain(thrown));
    const { isWatched } = options;
    watchUnattached({ life, isWatched, clock: store.clock, book, signal: stop.signal }).catch((thrown: unknown) => book.complain(thrown));
    live.onStarted();
    // Also while what was handed over is sealed behind a trainer that has ended.
    watchOverdue({ life, clock: store.clock, book, signal: over.signal }).catch((thrown: unknown) => book.complain(thrown));
    const linger = startHangWatch(live, { life, trainer, signal: stop.signal });
    const wasTold = trainer.ended.then(() => live.notices.first !== null);
    const peer = trainer.ended.then(() => peerOf(live, { life, attempt: prepared.attempt }));
    const told = new AbortController();
    const running = { ...prepared, life, trainer, wasTold, peer, linger, watcher, fenced: fenced.promise, stop, told };
    return await untilEnd(live, running).catch((thrown: unknown) => outliveDefect(thrown, live, running));
  } finally {
    stop.abort();
    over.abort();
    if ((await watcher?.stop(patience(live.notices, store.clock))) === false) live.cannotEnd();
    Object.assign(current, { life: null, trainer: null });
    server.close();
  }
}

/** Of several nodes over one folder one does what is done once. */
function leads({ gang }: RunOptions): boolean {
  return gang === null || gang.nodeRank === 0;
}

async function prepareWatch(
  { options, store, book }: LiveOptions,
  told: Omit<Parameters<typeof prepareWatching>[0], 'store' | 'book'>,
): Promise<ReturnType<typeof prepareWatching> | null> {
  if (!options.isWatched || !leads(options)) return null;
  const watching = await import('./watch/watching.ts');
  return watching.prepareWatching({ ...told, store, book });
}

function startHangWatch({ options, store, book, mayRestart }: LiveOptions, life: Pick<HangWatch, 'life' | 'trainer' | 'signal'>): Linger {
  const { hang: rules, onHang } = options;
  const watch = { ...life, onHang, clock: store.clock, book };
  const hangWatch = { ...watch, mayRestart: () => mayRestart(life.life.measured.lastGoodStep) };
  if (rules !== null) watchForHangs({ ...hangWatch, rules }).catch((thrown: unknown) => book.complain(thrown));
  return watchLingering({ ...watch, rules });
}

interface Running extends Prepared {
  readonly life: Life;
  readonly trainer: Trainer;
  /** Whether a notice that ends the attempt had come by the time the trainer ended: a later one has no part in how it did. */
  readonly wasTold: Promise<boolean>;
  /** Which other node had been told to end by then. */
  readonly peer: Promise<InterruptedPeer | null>;
  readonly linger: Linger;
  readonly watcher: Watcher | null;
  readonly fenced: Promise<HoldfastError>;
  readonly stop: AbortController;
  /** Aborted when the end is about to be told. */
  readonly told: AbortController;
}

async function untilEnd(live: LiveOptions, running: Running): Promise<LifeEnd> {
  const { store, book, notices } = live;
  const { life, trainer, attempt, stop } = running;
  const gone = hasGone(running, store.clock);
  const first = await Promise.race([gone.then(() => 'ended' as const), notices.terminating, running.fenced]);
  stop.abort();
  let flush: FlushOutcome = 'none';
  let failure: number | null = null;
  if (first instanceof HoldfastError) {
    failure = EXIT.fenced;
    await endFenced(running, live, gone);
  } else if (first !== 'ended') {
    const leaveWord = (): void => leaveProvisional({ ...live, life, attempt });
    const told = running.told.signal;
    flush = await endTrainer(first, { life, trainer, notices, store, attempt, book, gone, leaveWord, told });
  }
  await gone;
  await settleSaves(live, life);
  await endRest(live, trainer);
  await running.watcher?.finish(notices, trainer.end !== null && 'code' in trainer.end && trainer.end.code === 0);
  const { wasEnded } = running.linger;
  const { saidFinished } = life;
  const end = { saidFinished, wasEnded, isTerminating: await running.wasTold, peer: await running.peer, trainer: trainer.end, failure };
  running.told.abort();
  writeEnd({ ...live, life, attempt }, end, flush);
  return { ...end, lastGoodStep: life.measured.lastGoodStep };
}

/** Who of the other nodes was told to end. Who was told itself need not know, and nobody asks a disk that does not answer. */
function peerOf(
  { options, store, book, notices }: LiveOptions,
  { life, attempt }: Pick<Running, 'life' | 'attempt'>,
): InterruptedPeer | null {
  if (options.gang === null || notices.first !== null || life.isDiskSilent) return null;
  return beside(book, () => interruptedPeer(store.path, attempt.attempt, book.node));
}

/** Ends what the trainer left behind. */
async function endRest({ notices, store: { clock }, book }: LiveOptions, trainer: Trainer): Promise<void> {
  const leftMs = (notices.deadline?.deadlineMs ?? Infinity) - clock.now();
  if (await trainer.endRest(clock, Math.min(REST_MS, leftMs / 2))) book.say('ended the processes that the trainer left behind');
}

/**
 * A defect of ours is loud, and no reason for the trainer to end: it goes on unsupervised, and is told what we are told. After a notice it has until
 * shortly before the deadline, as always.
 */
async function outliveDefect(thrown: unknown, live: LiveOptions, running: Running): Promise<LifeEnd> {
  const { book, notices, store } = live;
  const { trainer, life, attempt, wasTold, linger } = running;
  book.complain(thrown);
  running.told.abort();
  await Promise.race([trainer.ended, notices.terminating]);
  trainer.tell('SIGTERM');
  const over = new AbortController();
  await Promise.race([trainer.ended, notices.untilDeadline(RESERVE_MS / 2, over.signal)]);
  over.abort();
  if (trainer.end === null) {
    book.warn('the trainer still lives shortly before the deadline and is killed');
    await trainer.killAll(store.clock);
  }
  // Perhaps what threw before, and the trainer's end is told all the same.
  await endRest(live, trainer).catch((again: unknown) => book.complain(again));
  const { saidFinished, measured } = life;
  const { wasEnded } = linger;
  const end = {
    saidFinished,
    wasEnded,
    isTerminating: await wasTold,
    peer: await running.peer,
    trainer: await trainer.ended,
    failure: null,
  };
  // What was told before something threw is told by who knew more.
  const isTold = book.left?.provisional === false && book.left.attempt === attempt.attempt;
  if (!isTold) beside(book, () => writeEnd({ ...live, life, attempt }, end, null));
  return { ...end, lastGoodStep: measured.lastGoodStep };
}

/** Resolves when the trainer has ended and everything that it said is heard. */
async function hasGone({ life, trainer }: Running, clock: Clock): Promise<void> {
  await trainer.ended;
  // A worker that outlives its launcher is told, and keeps its connection while it ends; it is not waited for longer than this.
  trainer.tellAll('SIGTERM');
  await bounded(life.drained(), REST_MS, clock);
}

/** What was handed over is still sealed, as long as there is time; what was not is given up. */
async function settleSaves({ notices, store }: LiveOptions, life: Life): Promise<void> {
  // What outlives its launcher would begin the next save, and so hold up the end.
  life.desk.close('the trainer has ended');
  if (life.desk.phase === 'gathering' || life.desk.phase === 'writing')
    life.desk.abandon('the trainer ended before it had written the save');
  const over = new AbortController();
  await Promise.race([life.desk.idle(), notices.untilDeadline(TELL_MS, over.signal).catch(() => {})]);
  over.abort();
  // Also when nothing goes on: what a process that outlives its launcher would begin now, nobody could tell of any more.
  life.desk.abandon(life.desk.phase === 'sealing' ? 'there was no time left to seal it' : 'the trainer has ended');
  // What is being committed right now takes a moment, and is told as what it is.
  await bounded(life.desk.idle(), life.isDiskSilent ? TELL_MS : REST_MS, store.clock);
}

async function endFenced({ trainer }: Running, { store }: LiveOptions, gone: Promise<void>): Promise<void> {
  trainer.tell('SIGTERM');
  await bounded(gone, FENCED_MS, store.clock);
  if (trainer.end === null) await trainer.killAll(store.clock);
}

function notStarted(failure: number | null): LifeEnd {
  return { saidFinished: false, wasEnded: false, isTerminating: true, peer: null, trainer: null, failure, lastGoodStep: null };
}

function startTrainer({ options, store, book, gang, restart }: LiveOptions, { attempt, resume, place }: Prepared): Promise<Trainer> {
  const { graceMs } = options.grace;
  const facts = {
    socket: place.path,
    run: store.run,
    dir: store.path,
    attempt: attempt.attempt,
    resume,
    graceMs,
    supervisor: store.owner,
    sdk: installedFile('python'),
  };
  const command = withResumeArgument(options.command, options.resumeArgument, resume?.path ?? null);
  // Of this life alone: what other nodes of the gang run may lie on the same machine, and is theirs to end.
  const mark = `${gang}-${restart}`;
  return Trainer.start({ command, env: trainerEnvironment(options.env, facts), mark }).then((trainer) => {
    book.record({ kind: 'trainer-started', pid: trainer.pid, restart });
    return trainer;
  });
}

function recordStart(live: LiveOptions, { attempt, resume }: Prepared): void {
  const { options, store, book, gang } = live;
  const { graceMs, from: graceFrom } = options.grace;
  book.record({
    kind: 'attempt-started',
    run: store.run,
    gang,
    version: options.version,
    command: options.command,
    resumeStep: resume?.step ?? null,
    worldSize: null,
    accelerators: null,
    cadence: options.cadenceText,
    graceMs,
    graceFrom,
  });
  book.say(
    `attempt ${attempt.attempt} of the run in ${store.path}, ${resume === null ? 'from the beginning' : `resuming after step ${resume.step}`}`,
  );
  if (leads(options)) beside(book, () => tellOtherProgram(live, { attempt, resume }));
}
