import { randomUUID } from 'node:crypto';
import { openRun } from '../../store/folder/store.ts';
import { isCode, storeError } from '../../store/disk/store-error.ts';
import type { Clock } from '../../core/clock.ts';
import { makeLastingFolders } from '../../core/make-folders.ts';
import type { Rng } from '../../core/rng.ts';
import { exitOfRun, type RunEnd, type RunExit } from '../../domain/exit/exit-contract.ts';
import type { Notice } from '../../domain/grace/notice.ts';
import { decideRestart, hasRestartLeft, makeBudget, type TrainerEnd } from '../../domain/restart/restart-budget.ts';
import { RunLog } from '../base/run-log.ts';
import { bounded } from '../../core/bounded.ts';
import { finishedStep } from './already-finished.ts';
import { fillSchedule } from './fill-schedule.ts';
import { startBackgroundServices } from './background-services.ts';
import { noticeSentence } from '../ending/ending.ts';
import { assertRunnable } from '../process/find-program.ts';
import { noticeFileProblem, watchNoticeFile } from '../notices/notice-file.ts';
import { labelOf, Notices } from '../notices/notices.ts';
import type { RunOptions } from '../settings/run-options.ts';
import { shutdownTimeout } from '../notices/shutdown-timeout.ts';
import { EarlyStatus } from './early-status.ts';
import { asRefusal } from './refusal.ts';
import { Rehearsal } from './rehearsal.ts';
import type { CurrentSession } from '../attempt/attempt-options.ts';
import { runAttempt } from '../attempt/run-attempt.ts';
import { Sealer } from '../saves/sealing/sealer.ts';
import type { Shipping } from '../shipping/shipping.ts';
import { openStage, type Stage } from '../saves/staging/stage.ts';
import { assertStageWish } from '../saves/staging/stage-folder.ts';
import { type HeardSignal, hearSignals, type SignalHub } from '../notices/signals.ts';
import { NodeFacts } from '../notices/node-facts.ts';
import { torchrunWarning } from './torchrun.ts';
import { PendingAdvice } from './pending-advice.ts';
import { MessageWithoutTrainer } from './message-without-trainer.ts';

/** What the supervisor gets from the process that it runs in. */
export interface SuperviseWorld {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly hub: SignalHub;
  readonly say: (text: string) => void;
  readonly shout: (text: string) => void;
  /**
   * Called when the supervisor starts to hear signals itself; returns the one that came before, if
   * any.
   */
  readonly takeSignals: () => HeardSignal | null;
  /**
   * Called when the process cannot exit by itself, because a thread waits for a disk that does not
   * answer.
   */
  readonly cannotEnd: () => void;
}

/**
 * Runs a command as the trainer of a run, with restarts, and resolves to the exit code. Throws when
 * the trainer cannot be started at all. Every start of the trainer is an attempt of its own. So a
 * process left over from an older one can commit nothing any more.
 */
export async function supervise(asked: RunOptions, world: SuperviseWorld): Promise<number> {
  let options = asked;
  const { clock, hub, say, shout } = world;
  const current: CurrentSession = { session: null, trainer: null };
  const over = new AbortController();
  let sealer: Sealer | null = null;
  let stage: Stage | null = null;
  let shipping: Shipping | null = null;
  const disk: RunDisk = { isSilent: false };
  const surroundings = new NodeFacts();
  const unheard = new PendingAdvice();
  const listener = {
    onNotice: (notice: Notice) => onNotice(notice, { log, words, current, unheard }),
    onWithdrawn: (notice: Notice) => onWithdrawn(notice, log, unheard),
  };
  const notices = new Notices(clock, options.grace, listener, () => surroundings.now());
  const log = new RunLog({ dir: options.dir, node: options.node, clock, terminationLog: options.terminationLog, say, shout });
  const words = new MessageWithoutTrainer({ log, notices, clock });
  hearSignals(hub, (signal) => notices.hear(signal), over.signal);
  const missed = world.takeSignals();
  if (missed !== null) notices.hear(missed);
  const early = new EarlyStatus({ options, clock, log, notices });
  try {
    await examine(options, log, clock);
    if (options.noticeFile !== null) {
      const complain = (text: string): void => log.warn(text);
      void watchNoticeFile(options.noticeFile, { notices, surroundings, clock, signal: over.signal, complain });
    }
    makeFolder(options.dir);
    shipping = await openShipping(options, { clock, log, notices, onWait: (sentence) => early.note(sentence) });
    if (notices.first !== null) return words.leaveInterrupted(null).code;
    const store = openRun(options.dir, { clock, ...(shipping?.run ? { run: shipping.run } : {}) });
    words.noteRun(store.run);
    options = fillSchedule(asked, store.path);
    const finished = await finishedStep(store, { options, shipping, signal: over.signal });
    if (finished !== null) return words.leaveFinished(finished);
    sealer = new Sealer({ dir: store.path, clock });
    const rehearsal = new Rehearsal({ options, store, log, notices, current });
    const bystanders = { options, store, log, notices, surroundings, current, rehearsal, rng: world.rng, signal: over.signal };
    // The memory of one node holds only a part of a checkpoint.
    stage = options.gang === null ? openStage(options, store, log) : null;
    const code = await liveOn({
      onStarted: firstTime(() => void early.close().then(() => startBackgroundServices(bystanders))),
      onSafe: () => rehearsal.soon(),
      onFirstStep: (session) => unheard.tell(session),
      cannotEnd: () => {
        disk.isSilent = true;
        world.cannotEnd();
      },
      options,
      store,
      log,
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
    const areThreadsGone = await closeWorkshop({ sealer, shipping, stage, disk }, shutdownTimeout(notices, clock), clock);
    over.abort();
    await early.close();
    notices.close();
    if (!(await log.end(shutdownTimeout(notices, clock))) || !areThreadsGone) world.cannotEnd();
  }
}

/**
 * Checks the command line before anything is made for the run: it refuses an impossible setting,
 * and warns of a doubtful one.
 */
async function examine({ command, env, grace, noticeFile, gang, stage }: RunOptions, log: RunLog, clock: Clock): Promise<void> {
  assertRunnable(command, env['PATH']);
  if (gang === null) assertStageWish(stage);
  const warning = torchrunWarning(command, grace.graceMs, env['PATH']);
  if (warning !== null) log.warn(warning);
  const problem = noticeFile === null ? null : await noticeFileProblem(noticeFile, clock);
  if (problem !== null) log.warn(`--notice-file: ${problem}`);
}

/** How long freeing memory may delay the exit. */
const FREE_MS = 2_000;

/**
 * Ends the threads and frees the memory of saves; false when a thread waits for a disk that does
 * not answer.
 */
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

/** What an abandoned thread shows about the disk of the run. */
interface RunDisk {
  isSilent: boolean;
}

function isSilent(disk: RunDisk, sealer: Sealer | null): boolean {
  return disk.isSilent || sealer?.isStuck === true;
}

/** Wraps a function so that only its first call has an effect. */
function firstTime(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}

/** Loads the modules for shipping only when the run ships. */
async function openShipping(options: RunOptions, world: Parameters<typeof Shipping.open>[2]): Promise<Shipping | null> {
  if (options.ship === null) return null;
  const { Shipping: opener } = await import('../shipping/shipping.ts');
  return opener.open(options.ship, options, world);
}

type Lives = Omit<Parameters<typeof runAttempt>[0], 'gang' | 'restart' | 'mayRestart'> & {
  readonly gang: () => string;
  readonly words: MessageWithoutTrainer;
};

/**
 * Runs one attempt after the other, until the run is finished, interrupted, or has spent its
 * restarts.
 */
async function liveOn(lives: Lives): Promise<number> {
  const { options, store, log, words, notices } = lives;
  let budget = makeBudget(options.restarts);
  for (let restart = 0; ; restart++) {
    const before = budget;
    const mayRestart = (lastGoodStep: number | null): boolean => hasRestartLeft(before, lastGoodStep);
    const end = await runAttempt({ ...lives, gang: lives.gang(), restart, mayRestart });
    if (end.trainer === null) return words.leaveInterrupted(null).code;
    const exit = exitOfRun(end);
    if (exit.kind === 'refused') return exit.code;
    const kind = restartKind(exit, end);
    const decision = decideRestart(budget, { kind, lastGoodStep: end.lastGoodStep });
    budget = decision.budget;
    if (kind === 'error' || decision.restart) log.say(decision.sentence);
    if (!decision.restart) return exit.code;
    await bounded(notices.terminating, decision.delayMs, store.clock);
    // The last attempt has reported its own end. The interruption hits the next one, so it is
    // reported apart.
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
    // Opening the run reports the obstacle that lies there instead.
    if (!isCode(thrown, 'EEXIST', 'ENOTDIR')) throw storeError(thrown, 'make the run’s folder', dir);
  }
}

interface Hearing {
  readonly log: RunLog;
  readonly words: MessageWithoutTrainer;
  readonly current: CurrentSession;
  readonly unheard: PendingAdvice;
}

/**
 * Records a notice at once, and asks for a save when it is an advice. The waits for
 * `notices.terminating` handle a notice that ends the attempt.
 */
function onNotice(notice: Notice, { log, words, current: { session, trainer }, unheard }: Hearing): void {
  const { cause, atMs, deadlineMs, confidence, terminating, source, detail } = notice;
  log.record({ kind: 'notice', cause, noticedMs: atMs, deadlineMs, confidence, terminating, source, detail });
  if (terminating && session === null) words.leaveProvisional();
  log.sayLater(noticeSentence(notice));
  if (terminating || session?.ask('asked') === true) return;
  const signal = detail === 'SIGUSR2' ? 'SIGUSR2' : 'SIGUSR1';
  if (cause === 'save-requested' && trainer?.catches(signal) === true) {
    trainer.tell(signal);
    return;
  }
  unheard.add(notice);
  log.say('no rank is attached; the first one to attach will be asked to save');
}

function onWithdrawn(notice: Notice, log: RunLog, unheard: PendingAdvice): void {
  const { cause, source } = notice;
  unheard.withdraw(notice);
  log.record({ kind: 'notice-withdrawn', cause, source });
  log.say(`withdrawn: ${labelOf(notice)}`);
}
