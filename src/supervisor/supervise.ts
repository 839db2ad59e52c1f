import { randomUUID } from 'node:crypto';
import { openRun } from '../checkpoint/store/store.ts';
import { isCode, storeError } from '../checkpoint/store/store-error.ts';
import type { Clock } from '../core/clock.ts';
import { makeLastingFolders } from '../core/make-folders.ts';
import type { Rng } from '../core/rng.ts';
import { exitOfRun, type RunEnd, type RunExit } from '../domain/exit-contract.ts';
import type { Notice } from '../domain/notice.ts';
import { decideRestart, hasRestartLeft, makeBudget, type TrainerEnd } from '../domain/restart-budget.ts';
import { Book } from './book.ts';
import { bounded } from './bounded.ts';
import { startBystanders } from './bystanders.ts';
import { noticeSentence } from './ending.ts';
import { assertRunnable } from './find-program.ts';
import { noticeFileProblem, watchNoticeFile } from './notice-file.ts';
import { labelOf, Notices } from './notices.ts';
import type { RunOptions } from './options.ts';
import { patience } from './patience.ts';
import { asRefusal } from './refusal.ts';
import { Rehearsal } from './rehearsal.ts';
import { type CurrentLife, liveOnce } from './live-once.ts';
import { Sealer } from './sealing/sealer.ts';
import type { Shipping } from './shipping/shipping.ts';
import { openStage, type Stage } from './staging/stage.ts';
import { assertStageWish } from './staging/stage-folder.ts';
import { type HeardSignal, hearSignals, type SignalHub } from './signals.ts';
import { Surroundings } from './surroundings.ts';
import { torchrunWarning } from './torchrun.ts';
import { Unheard } from './unheard.ts';
import { WordsBetween } from './words-between.ts';

export interface SuperviseWorld {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly hub: SignalHub;
  readonly say: (text: string) => void;
  readonly shout: (text: string) => void;
  /** Told when the supervisor hears signals itself; says which one has come before, if any. */
  readonly takeSignals: () => HeardSignal | null;
  /** Told when the process will not end by itself: something in it waits for a disk that does not answer. */
  readonly cannotEnd: () => void;
}

/**
 * Runs a command as the trainer of a run, from its first life to its last; resolves to the exit code. Throws when the trainer cannot be started
 * at all. Every life is an attempt of its own, so that what an older one has left behind can commit nothing any more.
 */
export async function supervise(options: RunOptions, world: SuperviseWorld): Promise<number> {
  const { clock, hub, say, shout } = world;
  const current: CurrentLife = { life: null, trainer: null };
  const over = new AbortController();
  let sealer: Sealer | null = null;
  let stage: Stage | null = null;
  let shipping: Shipping | null = null;
  const disk: RunDisk = { isSilent: false };
  const surroundings = new Surroundings();
  const unheard = new Unheard();
  const listener = {
    onNotice: (notice: Notice) => onNotice(notice, { book, words, current, unheard }),
    onWithdrawn: (notice: Notice) => onWithdrawn(notice, book, unheard),
  };
  const notices = new Notices(clock, options.grace, listener, () => surroundings.now());
  const book = new Book({ dir: options.dir, node: options.node, clock, terminationLog: options.terminationLog, say, shout });
  const words = new WordsBetween({ book, notices, clock });
  hearSignals(hub, (signal) => notices.hear(signal), over.signal);
  const early = world.takeSignals();
  if (early !== null) notices.hear(early);
  try {
    examine(options, book);
    if (options.noticeFile !== null) {
      const complain = (text: string): void => book.warn(text);
      void watchNoticeFile(options.noticeFile, { notices, surroundings, clock, signal: over.signal, complain });
    }
    makeFolder(options.dir);
    shipping = await openShipping(options, { clock, book, notices });
    if (notices.first !== null) return words.leaveInterrupted(null).code;
    const store = openRun(options.dir, { clock, ...(shipping?.run ? { run: shipping.run } : {}) });
    words.noteRun(store.run);
    sealer = new Sealer({ dir: store.path, clock });
    const rehearsal = new Rehearsal({ options, store, book, notices, current });
    const bystanders = { options, store, book, notices, surroundings, current, rehearsal, rng: world.rng, signal: over.signal };
    // What lies in the memory of one node is a part of a checkpoint only.
    stage = options.gang === null ? openStage(options, store, book) : null;
    const code = await liveOn({
      onStarted: firstTime(() => startBystanders(bystanders)),
      onSafe: () => rehearsal.soon(),
      onFirstStep: (life) => unheard.tell(life),
      cannotEnd: () => {
        disk.isSilent = true;
        world.cannotEnd();
      },
      options,
      store,
      book,
      words,
      notices,
      current,
      sealer,
      stage,
      shipping,
      gang: randomUUID,
    });
    words.close();
    await shipping?.finish(notices, isSilent(disk, sealer));
    return code;
  } catch (thrown) {
    const refusal = asRefusal(thrown);
    words.leaveRefused(refusal);
    throw refusal;
  } finally {
    const areThreadsGone = await closeWorkshop({ sealer, shipping, stage, disk }, patience(notices, clock), clock);
    over.abort();
    if (!(await book.close(patience(notices, clock))) || !areThreadsGone) world.cannotEnd();
  }
}

/** What is wrong with the command line is told before anything is made for it: what cannot work is refused, what may not be meant is said. */
function examine({ command, env, grace, noticeFile, gang, stage }: RunOptions, book: Book): void {
  assertRunnable(command, env['PATH']);
  if (gang === null) assertStageWish(stage);
  const warning = torchrunWarning(command, grace.graceMs, env['PATH']);
  if (warning !== null) book.warn(warning);
  const problem = noticeFile === null ? null : noticeFileProblem(noticeFile);
  if (problem !== null) book.warn(`--notice-file: ${problem}`);
}

/** How long freeing memory may hold up the end. */
const FREE_MS = 2_000;

/** Ends the threads and frees the memory of saves; false when a thread waits for a disk that does not answer. */
async function closeWorkshop({ sealer, shipping, stage, disk }: Workshop, patienceMs: number, clock: Clock): Promise<boolean> {
  const areGone = await Promise.all([sealer?.close(patienceMs), shipping?.close(patienceMs, isSilent(disk, sealer))]);
  if (stage !== null) await bounded(stage.close(), FREE_MS, clock);
  return !areGone.includes(false);
}

interface Workshop {
  readonly sealer: Sealer | null;
  readonly shipping: Shipping | null;
  readonly stage: Stage | null;
  readonly disk: RunDisk;
}

/** What a thread that was given up tells of the disk of the run. */
interface RunDisk {
  isSilent: boolean;
}

function isSilent(disk: RunDisk, sealer: Sealer | null): boolean {
  return disk.isSilent || sealer?.isStuck === true;
}

/** Does something the first time only. */
function firstTime(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}

/** Who does not ship loads nothing of it. */
async function openShipping(options: RunOptions, world: Parameters<typeof Shipping.open>[2]): Promise<Shipping | null> {
  if (options.ship === null) return null;
  const { Shipping: opener } = await import('./shipping/shipping.ts');
  return opener.open(options.ship, options, world);
}

type Lives = Omit<Parameters<typeof liveOnce>[0], 'gang' | 'restart' | 'mayRestart'> & {
  readonly gang: () => string;
  readonly words: WordsBetween;
};

/** One life after the other, until the run is finished, interrupted, or has spent its restarts. */
async function liveOn(lives: Lives): Promise<number> {
  const { options, store, book, words, notices } = lives;
  let budget = makeBudget(options.restarts);
  for (let restart = 0; ; restart++) {
    const before = budget;
    const mayRestart = (lastGoodStep: number | null): boolean => hasRestartLeft(before, lastGoodStep);
    const end = await liveOnce({ ...lives, gang: lives.gang(), restart, mayRestart });
    if (end.trainer === null) return words.leaveInterrupted(null).code;
    const exit = exitOfRun(end);
    if (exit.kind === 'refused') return exit.code;
    const kind = restartKind(exit, end);
    const decision = decideRestart(budget, { kind, lastGoodStep: end.lastGoodStep });
    budget = decision.budget;
    if (kind === 'error' || decision.restart) book.say(decision.sentence);
    if (!decision.restart) return exit.code;
    await bounded(notices.terminating, decision.delayMs, store.clock);
    // How the last life ended is told; what is interrupted is the next one, whatever the last had said of itself.
    if (notices.first !== null) return words.leaveInterrupted(end.trainer).code;
  }
}

function restartKind({ kind }: RunExit, { isTerminating }: RunEnd): TrainerEnd['kind'] {
  if (kind === 'finished') return 'finished';
  if (kind !== 'interrupted') return 'error';
  return isTerminating ? 'interruption' : 'interruption-elsewhere';
}

function makeFolder(dir: string): void {
  try {
    makeLastingFolders(dir);
  } catch (thrown) {
    // What lies there instead is told by whoever opens it.
    if (!isCode(thrown, 'EEXIST', 'ENOTDIR')) throw storeError(thrown, 'make the run’s folder', dir);
  }
}

interface Hearing {
  readonly book: Book;
  readonly words: WordsBetween;
  readonly current: CurrentLife;
  readonly unheard: Unheard;
}

/** A notice is written down at once; an advice also asks for a save. What ends the attempt is handled by whoever waits for it. */
function onNotice(notice: Notice, { book, words, current: { life, trainer }, unheard }: Hearing): void {
  const { cause, atMs, deadlineMs, confidence, terminating, source, detail } = notice;
  book.record({ kind: 'notice', cause, noticedMs: atMs, deadlineMs, confidence, terminating, source, detail });
  if (terminating && life === null) words.leaveProvisional();
  book.sayLater(noticeSentence(notice));
  if (terminating || life?.ask('asked') === true) return;
  const signal = detail === 'SIGUSR2' ? 'SIGUSR2' : 'SIGUSR1';
  if (cause === 'save-requested' && trainer?.catches(signal) === true) {
    trainer.tell(signal);
    return;
  }
  unheard.add(notice);
  book.say('nobody is attached who could save now; whoever attaches is asked to');
}

function onWithdrawn(notice: Notice, book: Book, unheard: Unheard): void {
  const { cause, source } = notice;
  unheard.withdraw(notice);
  book.record({ kind: 'notice-withdrawn', cause, source });
  book.say(`withdrawn: ${labelOf(notice)}`);
}
