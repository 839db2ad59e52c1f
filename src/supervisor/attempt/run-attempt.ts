import { dirname } from 'node:path';
import { type Attempt, isReplaced } from '../../store/attempt/attempt.ts';
import type { Clock } from '../../core/clock.ts';
import { EXIT } from '../../core/exit-codes.ts';
import { maskArguments } from '../../core/secrets.ts';
import { installedFile } from '../../core/installation.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { InterruptedPeer } from '../../domain/exit/exit-contract.ts';
import { RESERVE_MS } from '../../domain/grace/flush-decision.ts';
import type { AttemptEnd, AttemptOptions } from './attempt-options.ts';
import { begin } from './begin.ts';
import { bounded } from '../../core/bounded.ts';
import type { RunLog } from '../base/run-log.ts';
import { tryOrReport } from '../base/try-or-report.ts';
import { keepCadence } from './cadence-keeper.ts';
import { endTrainer, type FlushOutcome } from '../ending/ending.ts';
import { trainerEnvironment, withResumeArgument } from './environment.ts';
import type { Resume } from '../base/resume.ts';
import { type AfterFinish, watchAfterFinish } from '../hang/after-finish.ts';
import { type HangWatch, watchProgress } from '../hang/watch-progress.ts';
import { interruptedPeer, unfinishedNode, unfinishedPeer } from '../nodes/interrupted-peer.ts';
import { endWithPeer } from './end-with-peer.ts';
import { type Begun, meet } from '../nodes/meet.ts';
import { leaveProvisional, recordTrainerEnd, writeEnd } from './end-report.ts';
import { TrainerSession } from '../session/trainer-session.ts';
import type { RunOptions } from '../settings/run-options.ts';
import { endOrphans } from './orphan-trainers.ts';
import { warnOfOtherProgram } from './other-program.ts';
import { shutdownTimeout } from '../notices/shutdown-timeout.ts';
import { RankArbiter } from '../sdk/rank-arbiter.ts';
import { SdkServer } from '../sdk/sdk-server.ts';
import { makeSocketPlace, socketCandidates, type SocketPlace } from '../sdk/socket-folder.ts';
import { watchOverdue } from '../hang/overdue.ts';
import { Trainer } from '../process/trainer.ts';
import { watchUnattached } from './unattached.ts';
import type { Watcher } from '../watch/watcher.ts';
import type { prepareWatching } from '../watch/watching.ts';

/** How long a fenced trainer, or the processes that it left behind, may take to end. */
const REST_MS = 2000;
const FENCED_MS = 10_000;
/** Time reserved to report how the attempt ended. */
const TELL_MS = 100;

/** Runs one attempt, from its number to its termination message. */
export async function runAttempt(live: AttemptOptions): Promise<AttemptEnd> {
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

/**
 * Gets the next attempt and its checkpoint; with several nodes, the first node finds both for all.
 */
async function beginTogether(live: AttemptOptions, signal: AbortSignal): Promise<Begun> {
  const { options, store, log } = live;
  if (options.gang === null) return begin(live, live.gang, signal);
  const { gang } = options;
  const begun = await meet(store, {
    gang,
    begin: () => begin(live, `${gang.id}/${live.gang}`, signal),
    signal,
    say: (text) => log.say(text),
  });
  if (gang.nodeRank > 0) {
    await log.open(begun.attempt.attempt);
    await endOrphans(live, signal);
  }
  return begun;
}

interface Prepared {
  readonly attempt: Attempt;
  readonly resume: Resume | null;
  readonly place: SocketPlace;
}

async function withSocket(live: AttemptOptions, prepared: Prepared): Promise<AttemptEnd> {
  const { options, store, log, current, sealer, stage } = live;
  const fenced = Promise.withResolvers<HoldfastError>();
  const onSafe = (): void => {
    live.shipping?.note();
    live.onSafe();
  };
  const onLeft = (): void => current.trainer?.look();
  const tells = { onSafe, onFirstStep: live.onFirstStep, onFenced: fenced.resolve, onLeft };
  const counters = dirname(prepared.place.path);
  const session = new TrainerSession({ options, store, ...prepared, log, sealer, stage, counters, ...tells });
  const server = await SdkServer.listen(prepared.place.path, new RankArbiter(session));
  const [stop, over] = [new AbortController(), new AbortController()];
  let watcher: Watcher | null = null;
  try {
    recordStart(live, prepared);
    const watch = await prepareWatch(live, { attempt: prepared.attempt, measured: session.measured, onSafe, onFenced: fenced.resolve });
    const trainer = await startTrainer(live, prepared);
    watcher = tryOrReport(log, () => watch?.(trainer) ?? null);
    Object.assign(current, { session, trainer });
    if (leads(options)) tryOrReport(log, () => live.shipping?.begin(store));
    const cadence = { cadence: options.cadence, clock: store.clock, log, signal: stop.signal };
    // With several nodes the first one decides: a save that one node asks for is made on all of
    // them. A trainer that never attaches makes no saves, or saves by its own schedule.
    if (leads(options)) session.attached.then(() => keepCadence(session, cadence)).catch((thrown: unknown) => log.complain(thrown));
    const { isWatched } = options;
    watchUnattached({ session, isWatched, clock: store.clock, log, signal: stop.signal }).catch((thrown: unknown) => log.complain(thrown));
    live.onStarted();
    // It also watches while a save is sealed after the trainer has ended.
    watchOverdue({ session, clock: store.clock, log, signal: over.signal }).catch((thrown: unknown) => log.complain(thrown));
    endWithPeer({ options, store, log, session, trainer, attempt: prepared.attempt.attempt, signal: stop.signal });
    const linger = startHangWatch(live, { session, trainer, signal: stop.signal });
    const wasTold = trainer.ended.then(() => live.notices.first !== null);
    const gone = hasGone({ session, trainer, log }, store.clock);
    const peer = gone.then(async () => peerOf(live, { session, attempt: prepared.attempt, wasTold: await wasTold }));
    const told = new AbortController();
    const running = { ...prepared, session, trainer, wasTold, gone, peer, linger, watcher, fenced: fenced.promise, stop, told };
    return await untilEnd(live, running).catch((thrown: unknown) => outliveDefect(thrown, live, running));
  } finally {
    stop.abort();
    over.abort();
    if ((await watcher?.stop(shutdownTimeout(live.notices, store.clock))) === false) live.cannotEnd();
    Object.assign(current, { session: null, trainer: null });
    server.close();
  }
}

function endingRules({ hang, gang }: RunOptions): Pick<Parameters<typeof endTrainer>[1], 'rules' | 'isOneOfMany'> {
  return { rules: hang, isOneOfMany: gang !== null && gang.nodes > 1 };
}

/** With several nodes over one folder, one node does the work that is done once. */
function leads({ gang }: RunOptions): boolean {
  return gang === null || gang.nodeRank === 0;
}

async function prepareWatch(
  { options, store, log }: AttemptOptions,
  told: Omit<Parameters<typeof prepareWatching>[0], 'store' | 'log'>,
): Promise<ReturnType<typeof prepareWatching> | null> {
  if (!options.isWatched || !leads(options)) return null;
  const watching = await import('../watch/watching.ts');
  return watching.prepareWatching({ ...told, store, log });
}

function startHangWatch(
  { options, store, log, mayRestart }: AttemptOptions,
  session: Pick<HangWatch, 'session' | 'trainer' | 'signal'>,
): AfterFinish {
  const { hang: rules, onHang } = options;
  const watch = { ...session, onHang, clock: store.clock, log };
  const hangWatch = { ...watch, mayRestart: () => mayRestart(session.session.measured.lastGoodStep) };
  if (rules !== null) watchProgress({ ...hangWatch, rules }).catch((thrown: unknown) => log.complain(thrown));
  return watchAfterFinish({ ...watch, rules });
}

interface Running extends Prepared {
  readonly session: TrainerSession;
  readonly trainer: Trainer;
  /** True if a notice to end had come before the trainer ended; a later one is not the cause. */
  readonly wasTold: Promise<boolean>;
  /** Resolves when the trainer has ended, and its end is recorded. */
  readonly gone: Promise<void>;
  /** The other node that had a notice to end by then. */
  readonly peer: Promise<InterruptedPeer | null>;
  readonly linger: AfterFinish;
  readonly watcher: Watcher | null;
  readonly fenced: Promise<HoldfastError>;
  readonly stop: AbortController;
  /** Aborted just before the end is reported. */
  readonly told: AbortController;
}

async function untilEnd(live: AttemptOptions, running: Running): Promise<AttemptEnd> {
  const { store, log, notices } = live;
  const { session, trainer, attempt, stop, gone } = running;
  const first = await Promise.race([gone.then(() => 'ended' as const), notices.terminating, running.fenced]);
  stop.abort();
  let flush: FlushOutcome = 'none';
  let failure: number | null = null;
  if (first instanceof HoldfastError) {
    failure = EXIT.fenced;
    await endFenced(running, live, gone);
  } else if (first !== 'ended') {
    const leaveWord = (): void => leaveProvisional({ ...live, session, attempt });
    const told = running.told.signal;
    flush = await endTrainer(first, {
      session,
      trainer,
      notices,
      store,
      attempt,
      log,
      gone,
      leaveWord,
      told,
      ...endingRules(live.options),
    });
  }
  await gone;
  await settleSaves(live, session, (await running.peer) !== null);
  await endRest(live, trainer);
  await running.watcher?.finish(notices, trainer.end !== null && 'code' in trainer.end && trainer.end.code === 0);
  const { wasEnded } = running.linger;
  const { saidFinished } = session;
  failure ??= replacedBy(live, running);
  const end = { saidFinished, wasEnded, isTerminating: await running.wasTold, peer: await running.peer, trainer: trainer.end, failure };
  running.told.abort();
  writeEnd({ ...live, session, attempt }, end, flush);
  return { ...end, lastGoodStep: session.measured.lastGoodStep };
}

/**
 * Finds the other node that had a notice to end. A node with a notice of its own only asks if the
 * others are finished, too. A silent disk is not asked.
 */
async function peerOf(
  { options, store, log, notices }: AttemptOptions,
  { session, attempt, wasTold }: Pick<Running, 'session' | 'attempt'> & { readonly wasTold: boolean },
): Promise<InterruptedPeer | null> {
  const { gang } = options;
  if (gang === null || session.isDiskSilent || (wasTold && !session.saidFinished)) return null;
  const { clock } = store;
  const siblings = { run: store.path, attempt: attempt.attempt, node: log.node };
  try {
    if (!session.saidFinished) return interruptedPeer(siblings);
    if (!wasTold || notices.first === null) return await unfinishedPeer(siblings, clock);
    const leftMs = (notices.deadline?.deadlineMs ?? Infinity) - clock.now() - 2 * TELL_MS;
    const node = await unfinishedNode(siblings, { nodes: gang.nodes, boundMs: leftMs, clock });
    return node === null ? null : { node, cause: notices.first.cause, saidFinished: false };
  } catch (thrown) {
    log.complain(thrown);
    return null;
  }
}

/**
 * The exit code of an attempt that a newer one has replaced, or null. The trainer of an older
 * attempt fails because its saves are refused, and that is no error of its own. Nothing is asked of
 * a disk that does not answer.
 */
function replacedBy({ store, log }: AttemptOptions, { session, attempt }: Pick<Running, 'session' | 'attempt'>): number | null {
  if (session.isDiskSilent) return null;
  return tryOrReport(log, () => (isReplaced(store, attempt.attempt) ? EXIT.fenced : null));
}

/** Ends the processes that the trainer left behind. */
async function endRest({ notices, store: { clock }, log }: AttemptOptions, trainer: Trainer): Promise<void> {
  const leftMs = (notices.deadline?.deadlineMs ?? Infinity) - clock.now();
  if (await trainer.endRest(clock, Math.min(REST_MS, leftMs / 2))) log.say('ended the processes that the trainer left behind');
}

/**
 * Keeps the trainer running after a defect in the supervisor, and logs the defect loudly. The
 * trainer continues unsupervised and still gets every notice. After a notice it has until shortly
 * before the deadline, as always.
 */
async function outliveDefect(thrown: unknown, live: AttemptOptions, running: Running): Promise<AttemptEnd> {
  const { log, notices, store } = live;
  const { trainer, session, attempt, wasTold, linger } = running;
  log.complain(thrown);
  running.told.abort();
  await Promise.race([trainer.ended, notices.terminating]);
  trainer.tell('SIGTERM');
  const over = new AbortController();
  await Promise.race([trainer.ended, notices.untilDeadline(RESERVE_MS / 2, over.signal)]);
  over.abort();
  if (trainer.end === null) {
    log.warn('the trainer still lives shortly before the deadline and is killed');
    await trainer.killAll(store.clock);
  }
  // This may throw the same error again; the trainer's end is reported all the same.
  await endRest(live, trainer).catch((again: unknown) => log.complain(again));
  const { saidFinished, measured } = session;
  const { wasEnded } = linger;
  const end = {
    saidFinished,
    wasEnded,
    isTerminating: await wasTold,
    peer: await running.peer,
    trainer: await trainer.ended,
    failure: replacedBy(live, running),
  };
  // A report from before the error knows more, so it stays.
  const isTold = log.left?.provisional === false && log.left.attempt === attempt.attempt;
  if (!isTold) tryOrReport(log, () => writeEnd({ ...live, session, attempt }, end, null));
  return { ...end, lastGoodStep: measured.lastGoodStep };
}

/** Resolves when the trainer has ended and all its messages are handled, and records its end. */
async function hasGone({ session, trainer, log }: Pick<Running, 'session' | 'trainer'> & { log: RunLog }, clock: Clock): Promise<void> {
  const end = await trainer.ended;
  // A worker that outlives its launcher gets SIGTERM and keeps its connection while it ends. The
  // wait for it is bounded.
  trainer.tellAll('SIGTERM');
  await bounded(session.drained(), REST_MS, clock);
  recordTrainerEnd({ session, log }, end);
}

/** Seals the save that was handed over, as long as there is time, and abandons any other. */
async function settleSaves({ notices, store, options }: AttemptOptions, session: TrainerSession, isPeerGone: boolean): Promise<void> {
  // A process that outlives its launcher could begin another save and delay the end.
  session.coordinator.close('the trainer has ended');
  if (session.coordinator.phase === 'gathering' || session.coordinator.phase === 'writing')
    session.coordinator.abandon('the trainer ended before it had written the save');
  const over = new AbortController();
  // A node with a notice writes its part within its grace, or never.
  const withoutPeer = isPeerGone ? [store.clock.sleep(options.grace.graceMs, { signal: over.signal }).catch(() => {})] : [];
  await Promise.race([session.coordinator.idle(), notices.untilDeadline(TELL_MS, over.signal).catch(() => {}), ...withoutPeer]);
  over.abort();
  // This is done even when no save is in progress, because a save that begins now could no longer
  // be reported.
  session.coordinator.abandon(session.coordinator.phase === 'sealing' ? 'there was no time left to seal it' : 'the trainer has ended');
  // A commit that is under way takes a moment, and its real result is reported.
  await bounded(session.coordinator.idle(), session.isDiskSilent ? TELL_MS : REST_MS, store.clock);
}

async function endFenced({ trainer }: Running, { store }: AttemptOptions, gone: Promise<void>): Promise<void> {
  trainer.tell('SIGTERM');
  await bounded(gone, FENCED_MS, store.clock);
  if (trainer.end === null) await trainer.killAll(store.clock);
}

function notStarted(failure: number | null): AttemptEnd {
  return { saidFinished: false, wasEnded: false, isTerminating: true, peer: null, trainer: null, failure, lastGoodStep: null };
}

function startTrainer({ options, store, log, gang, restart }: AttemptOptions, { attempt, resume, place }: Prepared): Promise<Trainer> {
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
  // The mark is unique to this attempt and node. Other nodes of the gang may run on the same
  // machine, and each ends its own processes.
  const mark = `${gang}-${restart}`;
  return Trainer.start({ command, env: trainerEnvironment(options.env, facts), mark }).then((trainer) => {
    log.record({ kind: 'trainer-started', pid: trainer.pid, restart });
    return trainer;
  });
}

function recordStart(live: AttemptOptions, { attempt, resume }: Prepared): void {
  const { options, store, log, gang } = live;
  const { graceMs, from: graceFrom } = options.grace;
  log.record({
    kind: 'attempt-started',
    run: store.run,
    gang,
    version: options.version,
    command: maskArguments(options.command, options.env),
    resumeStep: resume?.step ?? null,
    worldSize: null,
    accelerators: null,
    cadence: options.cadenceText,
    graceMs,
    graceFrom,
  });
  if (options.scheduledAtMs !== null) log.record({ kind: 'scheduled', scheduledMs: options.scheduledAtMs });
  if (options.trial !== null) log.record({ kind: 'trial', ...options.trial });
  log.say(
    `attempt ${attempt.attempt} of the run in ${store.path}, ${resume === null ? 'from the beginning' : `resuming after step ${resume.step}`}`,
  );
  if (leads(options)) tryOrReport(log, () => warnOfOtherProgram(live, { attempt, resume }));
}
