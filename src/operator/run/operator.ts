import type { Clock } from '../../core/clock.ts';
import type { Rng } from '../../core/rng.ts';
import type { KubeApi } from '../../kube/api/kube-api.ts';
import { runController } from '../../kube/control/controller.ts';
import { EventRecorder } from '../../kube/control/event-recorder.ts';
import { LeaderElection } from '../../kube/control/leader-election.ts';
import type { Reconciled } from '../../kube/control/controller.ts';
import { WorkQueue } from '../../kube/control/work-queue.ts';
import type { StoreChange } from '../../kube/watch/store.ts';
import type { Cloud } from '../kinds/clouds.ts';
import type { PodSettings } from '../kinds/kind.ts';
import { NATIVE_GROUPS } from '../kinds/native-gang.ts';
import { reconcileObserved } from '../observed/reconcile-observed.ts';
import { keepRun } from '../reconcile/keep-run.ts';
import { reconcileJob } from '../reconcile/reconcile.ts';
import type { OperatorWorld } from '../reconcile/world.ts';
import { makeRoom } from '../room/make-room.ts';
import { Figures } from './figures.ts';
import { parseTurn, ROOM_TURN } from './job-keys.ts';
import { Mirror } from './mirror.ts';
import { type News, newsOf } from './news.ts';
import { ProgressReader, type ReadStatus } from './progress-reader.ts';
import { TroubleLog } from './trouble-log.ts';

/** What an operator is made from. */
export interface OperatorOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly rng: Rng;
  /** Different for every process: the name of its pod, or of its machine. */
  readonly identity: string;
  /** The namespace whose jobs it runs; null: all. */
  readonly watchNamespace: string | null;
  /**
   * The namespace of the Lease that elects one leader; null: this operator leads without asking.
   */
  readonly leaseNamespace: string | null;
  /** Whether the cluster has native gangs is found by discovery. */
  readonly settings: Omit<PodSettings, 'hasNativeGangs'>;
  /** How long a TrainingRun outlives its job. */
  readonly keepRunsMs: number;
  /** The conditions of nodes that end an attempt. */
  readonly faultConditions: readonly string[];
  /** Whose Spot machines the operator asks for; null: that of the nodes. */
  readonly cloud: Cloud | null;
  /** How long a gang that makes room may take to save. */
  readonly makeRoomDeadlineMs: number;
  readonly readStatus: ReadStatus;
  /** Hears what people should know, one line at a time. */
  readonly say: (line: string) => void;
  /** Hears what happened to the runs, while this operator leads. */
  readonly onNews?: (news: News) => void;
}

/** Jobs that are looked at side by side. Each look mostly waits for the API server. */
const WORKERS = 8;
/** What was there at the start waits behind what changes. */
const RESYNC = -1;
const LEASE = 'holdfast-operator';
const COMPONENT = 'holdfast-operator';
const ASK_AGAIN_MS = 1000;
const LAST_EVENTS_MS = 2000;

/**
 * The controller process: watches, a work queue, one look after the other, and events.
 *
 * Reading: every kind is listed once; nothing is written. Standing by: the watches run, so that it
 * can take over at once; another operator leads. Leading: jobs are reconciled. An operator that
 * loses the lease stands by again.
 */
export class Operator {
  readonly #options: OperatorOptions;
  readonly #mirror: Mirror;
  readonly #figures = new Figures();
  readonly #events: EventRecorder;
  readonly #troubles: TroubleLog;
  /** Null: another operator leads, or none does yet. */
  #queue: WorkQueue | null = null;

  constructor(options: OperatorOptions) {
    const { api, clock, rng, watchNamespace, say, identity } = options;
    this.#options = options;
    this.#troubles = new TroubleLog(clock, say);
    const onTrouble = (trouble: { readonly message: string }): void => this.#troubles.report(trouble);
    this.#events = new EventRecorder({ api, clock, component: COMPONENT, instance: identity, onTrouble });
    this.#mirror = new Mirror({
      api,
      clock,
      rng,
      namespace: watchNamespace,
      onTrouble,
      onTurn: (turn) => this.#queue?.add(turn),
      onRun: (change) => this.#tell(change),
    });
  }

  /** Whether it has read everything that it watches. */
  get isReady(): boolean {
    return this.#mirror.missing().length === 0;
  }

  /** What `/readyz` answers while it is not ready: the kinds that it waits for. */
  get waitsFor(): string {
    const missing = this.#mirror.missing().map(({ name, reason }) => (reason === null ? name : `${name} (${reason})`));
    return `waiting for ${missing.join(', ')}`;
  }

  /** Whether no job waits for a turn or has one. Jobs may wait for a time. */
  get isIdle(): boolean {
    return this.#queue?.isIdle ?? true;
  }

  /** The page of `/metrics`. */
  metrics(): string {
    const isLeader = this.#queue !== null;
    const runs = isLeader ? this.#mirror.stores.runs.all() : [];
    return this.#figures.page({ isLeader, isReady: this.isReady, depth: this.#queue?.depth ?? 0, runs });
  }

  /** Runs jobs until the signal ends it; what is recorded by then is written before it returns. */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { say } = this.#options;
    const over = new AbortController();
    const watching = this.#mirror.run({ signal });
    const recording = this.#events.run({ signal: over.signal }).catch(() => undefined);
    try {
      await this.#mirror.ready({ signal });
      say('all watches are up to date');
      while (!signal.aborted) await this.#leadOnce(signal);
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    } finally {
      over.abort(new Error('the operator ends'));
      await Promise.all([watching, recording]);
      await this.#flushEvents();
    }
  }

  async #leadOnce(signal: AbortSignal): Promise<void> {
    const { api, clock, rng, identity, leaseNamespace, watchNamespace, say } = this.#options;
    if (leaseNamespace === null) return this.#lead(signal);
    const name = watchNamespace === null ? LEASE : `${LEASE}-${watchNamespace}`;
    const lease = { namespace: leaseNamespace, name };
    const onTrouble = (trouble: { readonly message: string }): void => this.#troubles.report(trouble);
    const election = new LeaderElection({ api, lease, identity, clock, rng: rng.fork('lease'), onTrouble });
    await election.run(async (leading) => {
      say('this operator leads now');
      await this.#lead(leading);
    }, signal);
    if (!signal.aborted) say('another operator may lead now; this one stands by');
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { clock, rng, readStatus } = this.#options;
    const queue = new WorkQueue({ clock, rng: rng.fork('queue') });
    const { stores } = this.#mirror;
    const progress = new ProgressReader({ stores, readStatus, clock, onTurn: (turn) => queue.add(turn) });
    const world = this.#world(progress, await this.#findNativeGangs(signal));
    this.#queue = queue;
    try {
      for (const turn of [...this.#mirror.allTurns(), ROOM_TURN]) queue.add(turn, RESYNC);
      const reconcile = (turn: string): Promise<Reconciled> => this.#reconcile(world, turn, signal);
      const onOutcome = (turn: string, outcome: Reconciled): void => this.#note(turn, outcome);
      await Promise.all([runController({ queue, reconcile, workers: WORKERS, onOutcome }, signal), progress.run({ signal })]);
    } finally {
      this.#queue = null;
      queue[Symbol.dispose]();
    }
  }

  /**
   * Whether the cluster serves its own PodGroups, and this operator may use them. Asked whenever it
   * begins to lead, because a cluster may be upgraded meanwhile.
   */
  async #findNativeGangs(signal: AbortSignal): Promise<boolean> {
    const { api, clock, watchNamespace, say } = this.#options;
    for (;;) {
      const found = await api.list(NATIVE_GROUPS, { namespace: watchNamespace, limit: 1, continueAt: null }, { signal });
      if (found.ok) say('Kubernetes schedules gangs by itself here: each attempt gets a PodGroup');
      if (found.ok || found.kind === 'notFound' || found.kind === 'forbidden') return found.ok;
      this.#troubles.report(found);
      await clock.sleep(ASK_AGAIN_MS, { signal });
    }
  }

  #world(progress: ProgressReader, hasNativeGangs: boolean): OperatorWorld {
    const { api, clock, settings, keepRunsMs, faultConditions, cloud, makeRoomDeadlineMs, watchNamespace } = this.#options;
    const [events, figures] = [this.#events, this.#figures];
    return {
      api,
      clock,
      stores: this.#mirror.stores,
      voice: {
        event: (about, note) => events.record(about, note),
        countJob: (counter, kind, namespace) => figures.countJob(counter, kind, namespace),
        count: (name, by) => figures.count(name, by),
      },
      settings: { ...settings, hasNativeGangs },
      keepRunsMs,
      troubles: new Map(),
      lostNodes: new Map(),
      faultConditions,
      cloud,
      room: { deadlineMs: makeRoomDeadlineMs, seesAll: watchNamespace === null, plans: new Map(), said: new Map() },
      progressOf: (jobUid, attempt) => progress.progressOf(jobUid, attempt),
    };
  }

  #reconcile(world: OperatorWorld, text: string, signal: AbortSignal): Promise<Reconciled> {
    const turn = parseTurn(text);
    if (turn.kind === 'room') return makeRoom(world, { signal });
    if (turn.kind === 'run') return keepRun(world, turn.key, { signal });
    if (turn.kind === 'observed') return reconcileObserved(world, turn.key, { signal });
    return reconcileJob(world, turn.kind, turn.key, { signal });
  }

  #tell(change: StoreChange): void {
    const news = this.#queue === null ? null : newsOf(change);
    if (news !== null) this.#options.onNews?.(news);
  }

  #note(turn: string, outcome: Reconciled): void {
    this.#figures.countOutcome(outcome);
    if (outcome.kind === 'retry' || outcome.kind === 'stuck') this.#troubles.report({ message: `${turn}: ${outcome.reason}` });
  }

  /** Writes the last events, as far as the API server takes them in a short time. */
  async #flushEvents(): Promise<void> {
    const late = new AbortController();
    const timer = this.#options.clock.sleep(LAST_EVENTS_MS, { signal: late.signal }).catch(() => undefined);
    const written = this.#events.flush({ signal: late.signal }).catch(() => undefined);
    await Promise.race([timer, written]);
    late.abort(new Error('the operator has ended'));
    await Promise.all([timer, written]);
  }
}
