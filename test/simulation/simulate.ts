import { createRng, type Rng } from '../../src/core/rng.ts';
import type { KubeApi } from '../../src/kube/api/kube-api.ts';
import { LEASES, NODE_LEASE_NAMESPACE } from '../../src/kube/api/resources.ts';
import { listAt, numberAt, textAt } from '../../src/kube/objects/fields.ts';
import { TRAINING_RUNS } from '../../src/operator/training-run/training-run.ts';
import { type TrueJob } from './bodies.ts';
import { Book } from './book.ts';
import { ClusterTruth } from './cluster-truth.ts';
import { randomJob } from './job-shapes.ts';
import { playKubelets } from './kubelets.ts';
import { OperatorProcess } from './operator-process.ts';
import { declareSilentNodes, evictFromLostNodes, finish, restoreNode, letTroubleCome, suspend } from './troubles.ts';

/** Makes another API of the one that an operator gets: a bug to be found. */
export type Spoil = (api: KubeApi, truth: ClusterTruth) => KubeApi;

/** What one seed came to. */
export interface Simulated {
  readonly seed: number;
  /** What must not be; empty: all invariants hold. */
  readonly faults: readonly string[];
  /** The attempts of all jobs. */
  readonly attempts: number;
  readonly log: readonly string[];
}

/** How a simulation is played. */
export interface SimulateOptions {
  /** Keeps a log, which takes time. */
  readonly keepsLog?: boolean;
  readonly spoil?: Spoil;
}

const NO_BUG: Spoil = (api) => api;
const CALM_ROUND_MS = 5_000;
/** Longer than the longest back-off and the longest patience. */
const MOST_CALM_ROUNDS = 500;
const SETTLE_MS = 90_000;
/** A retry whose pause had grown before the calm. */
const LAST_RETRY_MS = 300_000;
const LATE_ROUND_MS = 15_000;
const REST_MS = 120_000;

/** Plays one seed: trouble first, then calm, until every run has ended and nothing is written. */
export async function simulate(seed: number, { keepsLog = false, spoil = NO_BUG }: SimulateOptions = {}): Promise<Simulated> {
  const simulation = new Simulation(seed, keepsLog, spoil);
  await simulation.trouble();
  await simulation.calm();
  await simulation.rest();
  return simulation.result;
}

class Simulation {
  readonly #seed: number;
  readonly #rng: Rng;
  readonly #truth: ClusterTruth;
  readonly #book: Book;
  readonly #operators: readonly OperatorProcess[];
  readonly #log: string[] = [];

  constructor(seed: number, keepsLog: boolean, spoil: Spoil) {
    this.#seed = seed;
    this.#rng = createRng(seed);
    const note = keepsLog ? (line: string): void => void this.#log.push(`${this.#time()} ${line}`) : (): void => undefined;
    this.#truth = new ClusterTruth(this.#rng, note);
    this.#book = new Book(this.#truth);
    const count = this.#rng.next() < 0.25 ? 2 : 1;
    this.#operators = ['operator a', 'operator b'].slice(0, count).map(
      (identity) =>
        new OperatorProcess({
          truth: this.#truth,
          rng: this.#rng.fork(identity),
          identity,
          hasLease: count > 1,
          onWrite: (call) => this.#book.heard(call),
          spoil,
        }),
    );
  }

  get result(): Simulated {
    const attempts = this.#truth.cluster.all(TRAINING_RUNS).reduce((sum, run) => sum + (numberAt(run, 'status', 'attempt') ?? 0), 0);
    return { seed: this.#seed, faults: this.#book.faults, attempts, log: this.#log };
  }

  /** Jobs run, and everything goes wrong. */
  async trouble(): Promise<void> {
    const rng = this.#rng.fork('trouble');
    for (const name of ['a', 'b'].slice(0, rng.integer(1, 2))) this.#truth.createJob(name, randomJob(rng));
    const pace = { share: 0.7, stuckShare: rng.pick([0, 0, 0.1]) };
    for (let rounds = rng.integer(40, 80); rounds > 0; rounds--) {
      if (rng.next() < 0.35) letTroubleCome(this.#truth, rng);
      this.#stir(rng);
      declareSilentNodes(this.#truth);
      evictFromLostNodes(this.#truth);
      await this.#round(rng, pace, rng.next() < 0.8 ? rng.integer(200, 4000) : rng.integer(4000, 30_000));
    }
  }

  /** Bad weather comes and goes. */
  #stir(rng: Rng): void {
    for (const { weather } of this.#operators) {
      if (rng.next() < 0.02) weather.outage(rng.integer(1000, 40_000));
      if (rng.next() < 0.05)
        weather.lag(rng.pick(['pods', 'trainingruns', 'pytorchjobs', 'tfjobs', 'nodes', 'services']), rng.integer(500, 15_000));
    }
    if (rng.next() >= 0.03) return;
    this.#book.read();
    this.#truth.cluster.compact();
  }

  async #round(rng: Rng, pace: { readonly share: number; readonly stuckShare: number }, ms: number): Promise<void> {
    for (const operator of this.#operators) operator.keepAlive();
    playKubelets(this.#truth, rng, pace, (body) => this.#book.started(body));
    this.#truth.collect();
    await this.#truth.clock.advance(ms);
    this.#book.read();
  }

  /** Nothing goes wrong any more: every run trains to its end, or has a reason not to. */
  async calm(): Promise<void> {
    const rng = this.#rng.fork('calm');
    this.#truth.note('from here on nothing goes wrong');
    for (const operator of this.#operators) operator.calm();
    for (const node of this.#truth.nodes) restoreNode(this.#truth, node);
    for (const body of this.#truth.bodies.values()) body.isStuck = false;
    const suspended = this.#rng.next() < 0.1 ? this.#open()[0] : undefined;
    for (const job of this.#open()) suspend(this.#truth, job, job === suspended);
    const pace = { share: 1, stuckShare: 0 };
    for (let round = 0; round < MOST_CALM_ROUNDS; round++) {
      await this.#round(rng, pace, CALM_ROUND_MS);
      const open = this.#open().filter((job) => job !== suspended);
      if (open.length === 0) return;
      if (round % 10 === 9) for (const job of open) finish(this.#truth, job);
    }
    for (const { name } of this.#open()) if (name !== suspended?.name) this.#fault(`${name} is lost: it never ends`);
  }

  /** Once nothing changes any more, nothing is written, and nothing is left that should be gone. */
  async rest(): Promise<void> {
    const rng = this.#rng.fork('rest');
    for (let ms = 0; ms < SETTLE_MS; ms += CALM_ROUND_MS) await this.#round(rng, { share: 1, stuckShare: 0 }, CALM_ROUND_MS);
    for (let ms = 0; ms < LAST_RETRY_MS; ms += LATE_ROUND_MS) await this.#round(rng, { share: 1, stuckShare: 0 }, LATE_ROUND_MS);
    const { version } = this.#truth.cluster;
    const hasLeader = this.#truth.cluster.all(LEASES).some(({ metadata }) => metadata.namespace !== NODE_LEASE_NAMESPACE);
    const writes = this.#othersWrote();
    await this.#truth.clock.advance(REST_MS);
    if (hasLeader ? this.#othersWrote() !== writes : this.#truth.cluster.version !== version) this.#fault('there are writes at rest');
    for (const job of this.#truth.jobs.values()) this.#checkEnd(job);
    for (const operator of this.#operators) await operator.stop();
    this.#book.read();
  }

  /** The newest version of each object but leases, as one text. */
  #othersWrote(): string {
    const { cluster } = this.#truth;
    const kinds = cluster.resources.filter(({ plural }) => plural !== LEASES.plural);
    return kinds.flatMap((kind) => cluster.all(kind).map(({ metadata }) => metadata.resourceVersion)).join(' ');
  }

  #checkEnd(job: TrueJob): void {
    const pods = this.#truth.pods().filter(([, { jobUid }]) => jobUid === job.uid);
    const run = this.#truth.cluster.all(TRAINING_RUNS).find((each) => textAt(each, 'spec', 'job', 'uid') === job.uid);
    const phase = textAt(run, 'status', 'phase');
    const object = this.#truth.jobObject(job);
    if (object === null) {
      if (pods.length > 0) this.#fault(`${job.name} is gone, and ${pods.length} pods of it are not`);
      if (run !== undefined && !['Deleted', 'Succeeded', 'Failed'].includes(phase ?? ''))
        this.#fault(`${job.name} is gone, and its run is ${phase}`);
      return;
    }
    const state = this.#stateOf(job);
    if (state === null) {
      if (pods.length > 0) this.#fault(`${job.name} is suspended and has ${pods.length} pods`);
      if (phase !== 'Suspended') this.#fault(`${job.name} is suspended, and its run is ${phase}`);
      return;
    }
    if (phase !== state) this.#fault(`${job.name} has ${state}, and its run is ${phase}`);
    const policy = textAt(object, 'spec', 'runPolicy', 'cleanPodPolicy') ?? 'None';
    const left = pods.filter(([, body]) => policy === 'All' || (policy === 'Running' && body.state === 'running'));
    if (left.length > 0) this.#fault(`${job.name} has ended, and ${left.length} pods are left under cleanPodPolicy ${policy}`);
  }

  #open(): readonly TrueJob[] {
    return [...this.#truth.jobs.values()].filter((job) => this.#truth.jobObject(job) !== null && this.#stateOf(job) === null);
  }

  #stateOf(job: TrueJob): 'Succeeded' | 'Failed' | null {
    const conditions = listAt(this.#truth.jobObject(job), 'status', 'conditions');
    const isTrue = (type: string): boolean => conditions.some((each) => textAt(each, 'type') === type && textAt(each, 'status') === 'True');
    return isTrue('Failed') ? 'Failed' : isTrue('Succeeded') ? 'Succeeded' : null;
  }

  #fault(text: string): void {
    this.#book.faults.push(text);
    this.#truth.note(`FAULT: ${text}`);
  }

  #time(): string {
    return `${(this.#truth.clock.monotonic() / 1000).toFixed(3).padStart(9)} s `;
  }
}
