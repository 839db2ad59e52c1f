import { VirtualClock } from '../../src/core/clock.ts';
import { createRng } from '../../src/core/rng.ts';
import { type ApiObject, keyOf } from '../../src/kube/api/api-object.ts';
import type { KubeApi } from '../../src/kube/api/kube-api.ts';
import type { Resource } from '../../src/kube/api/resource.ts';
import { JOBS, NODES, PODS, SERVICES } from '../../src/kube/api/resources.ts';
import { timestamp } from '../../src/kube/api/timestamp.ts';
import type { EventNote } from '../../src/kube/control/event-recorder.ts';
import type { Reconciled } from '../../src/kube/control/controller.ts';
import { MemoryApi } from '../../src/kube/memory/memory-api.ts';
import { MemoryCluster } from '../../src/kube/memory/memory-cluster.ts';
import { plainKind } from '../../src/kube/memory/stored-kind.ts';
import { listAt, numberAt, textAt } from '../../src/kube/objects/fields.ts';
import { type IndexOf, Store, type StoreReader } from '../../src/kube/watch/store.ts';
import type { JobKind } from '../../src/operator/kinds/kind.ts';
import { PYTORCH_JOB } from '../../src/operator/kinds/pytorch.ts';
import { JOB_KINDS } from '../../src/operator/kinds/table.ts';
import { keepRun } from '../../src/operator/reconcile/keep-run.ts';
import { reconcileJob } from '../../src/operator/reconcile/reconcile.ts';
import type { Progress } from '../../src/operator/reconcile/draft.ts';
import {
  byOwner,
  byRoom,
  bySubject,
  OWNER_INDEX,
  ROOM_INDEX,
  SUBJECT_INDEX,
  type OperatorStores,
  type OperatorWorld,
  type Stranded,
} from '../../src/operator/reconcile/world.ts';
import { TRAINING_RUNS } from '../../src/operator/training-run/training-run.ts';
import { valueOf } from '../kube/memory-world.ts';

const WEEK_MS = 7 * 86_400_000;
type Fields = Readonly<Record<string, unknown>>;

/** The pods of one role. */
export function role(container: string, replicas: number, more: Fields = {}): Fields {
  return { replicas, template: { spec: { containers: [{ name: container, image: 'i' }] } }, ...more };
}

/** One master and two workers. */
export const MASTER: Fields = { Master: role('pytorch', 1), Worker: role('pytorch', 2) };
/** The names of their pods in an attempt, with this mark after each. */
export const ALL = (attempt: number, mark = ''): readonly string[] =>
  ['j-master-0', 'j-worker-0', 'j-worker-1'].map((name) => `${name}#${attempt}${mark}`);

/** A PyTorchJob, of {@link MASTER} unless other roles are given. */
export function gang(runPolicy: Fields = {}, annotations: Readonly<Record<string, string>> = {}, roles: Fields = MASTER): GangWorld {
  return new GangWorld(PYTORCH_JOB, { pytorchReplicaSpecs: roles, runPolicy }, annotations);
}

/** A cluster with one namespace in memory, its operator, and kubelets that the test plays. */
export class GangWorld {
  readonly clock = new VirtualClock();
  readonly events: string[] = [];
  readonly signal = new AbortController().signal;
  readonly cluster = new MemoryCluster({
    clock: this.clock,
    rng: createRng(1),
    kinds: [
      ...[NODES, SERVICES].map((resource) => plainKind(resource)),
      { ...plainKind(PODS, true), isGraceful: true },
      ...[TRAINING_RUNS, ...JOB_KINDS.map(({ resource }) => resource)].map((resource) => plainKind(resource, true)),
    ],
  });
  /** The log of each pod. */
  readonly logs = new Map<string, string>();
  progress: Progress | null = null;
  /** The operator's own image. */
  image: string | null = null;
  gangScheduler: string | null = null;
  hasNativeGangs = false;
  readonly #kind: JobKind;
  #api: KubeApi;
  #behind: OperatorStores | null = null;
  readonly #room = { deadlineMs: 60_000, seesAll: true, plans: new Map<string, string>(), said: new Map<string, string>() };
  readonly #troubles = new Map<string, string>();
  readonly #lostNodes = new Map<string, ReadonlyMap<string, Stranded>>();

  constructor(kind: JobKind, spec: Fields, annotations: Readonly<Record<string, string>> = {}) {
    this.#kind = kind;
    const answers = { log: ({ name }: { readonly name: string }) => this.logs.get(name) ?? null, get: () => null };
    this.#api = new MemoryApi(this.cluster, { clock: this.clock, answers });
    const metadata = { name: 'j', namespace: 'n', annotations };
    valueOf(this.cluster.create(kind.resource, { apiVersion: 'kubeflow.org/v1', kind: kind.resource.kind, metadata, spec }));
  }

  get api(): KubeApi {
    return this.#api;
  }

  /** Wraps the API that the operator uses. */
  intercept(wrap: (api: KubeApi) => KubeApi): void {
    this.#api = wrap(this.#api);
  }

  get job(): ApiObject {
    return valueOf(this.cluster.get(this.#kind.resource, { namespace: 'n', name: 'j' }));
  }

  /** The TrainingRun of the job. */
  get run(): ApiObject {
    const [run] = this.cluster.all(TRAINING_RUNS);
    if (run === undefined) throw new Error('there is no TrainingRun');
    return run;
  }

  /** `Created Running`: the conditions of the job; a false one has an exclamation mark. */
  get conditions(): string {
    return listAt(this.job, 'status', 'conditions')
      .map((each) => `${textAt(each, 'status') === 'True' ? '' : '!'}${textAt(each, 'type')}`)
      .join(' ');
  }

  /** `j-master-0#1`: the pods with their attempt; one that is being deleted ends with a minus. */
  get pods(): readonly string[] {
    return this.cluster.all(PODS).map(({ metadata }) => {
      const attempt = metadata.labels?.['holdfast.dev/attempt'] ?? '';
      return `${metadata.name}#${attempt}${metadata.deletionTimestamp === undefined ? '' : '-'}`;
    });
  }

  get attempt(): number | null {
    return numberAt(this.run, 'status', 'attempt');
  }

  /** One pass over the job; the watches are up to date. */
  reconcile(): Promise<Reconciled> {
    return reconcileJob(this.world(), this.#kind, { namespace: 'n', name: 'j' }, { signal: this.signal });
  }

  /** One pass over the TrainingRun. */
  keep(): Promise<Reconciled> {
    return keepRun(this.world(), keyOf(this.run), { signal: this.signal });
  }

  /** Passes until nothing changes, without waiting. */
  async settle(): Promise<void> {
    for (let passes = 0; passes < 20; passes++) {
      const before = this.cluster.version;
      await this.reconcile();
      if (this.cluster.version === before) return;
    }
    throw new Error('the operator does not come to rest');
  }

  /** The kubelets start every pod that waits, on one node unless others are named. */
  startPods(nodeOf: (name: string) => string = () => 'node-1'): void {
    for (const pod of this.cluster.all(PODS)) {
      if (textAt(pod, 'status', 'phase') !== 'Pending' || pod.metadata.deletionTimestamp !== undefined || pod.metadata.namespace !== 'n')
        continue;
      const nodeName = nodeOf(pod.metadata.name);
      const bound = valueOf(this.cluster.replace(PODS, { ...pod, spec: { ...(pod['spec'] as Fields), nodeName } }, 'rest'));
      valueOf(this.cluster.replace(PODS, { ...bound, status: { phase: 'Running', podIP: '10.0.0.1' } }, 'status'));
    }
  }

  /** Starts everything, and lets the operator see it. */
  async start(): Promise<void> {
    await this.settle();
    this.startPods();
    await this.settle();
  }

  /** A new operator process knows nothing but what it reads. */
  forgetAll(): void {
    this.#room.plans.clear();
    this.#room.said.clear();
    this.#lostNodes.clear();
    this.#troubles.clear();
  }

  pod(name: string): ApiObject {
    return valueOf(this.cluster.get(PODS, { namespace: 'n', name }));
  }

  setStatus(name: string, status: Fields): void {
    valueOf(this.cluster.replace(PODS, { ...this.pod(name), status }, 'status'));
  }

  /** The training container of the pod ends. */
  exit(name: string, exitCode: number, more: Fields = {}): void {
    const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', finishedAt: timestamp(this.clock.now()) };
    const containerStatuses = [{ name: this.#kind.container, state: { terminated } }];
    this.setStatus(name, { phase: exitCode === 0 ? 'Succeeded' : 'Failed', containerStatuses, ...more });
  }

  /** Deletes the pod with its own grace, as a user does. */
  remove(name: string): void {
    valueOf(this.cluster.delete(PODS, { namespace: 'n', name }, {}));
  }

  /** The kubelet has ended a pod that is being deleted. */
  finish(name: string): void {
    valueOf(this.cluster.delete(PODS, { namespace: 'n', name }, { graceSeconds: 0 }));
  }

  /** The kubelets have ended all pods that are being deleted. */
  finishAll(): void {
    for (const { metadata } of this.cluster.all(PODS)) if (metadata.deletionTimestamp !== undefined) this.finish(metadata.name);
  }

  /** Sets the conditions of the node of all pods. */
  reportNode(...conditions: readonly Fields[]): void {
    const node = this.cluster.get(NODES, { namespace: null, name: 'node-1' });
    const metadata = { name: 'node-1', labels: { 'topology.kubernetes.io/zone': 'a' } };
    const object = node.ok ? node.value : valueOf(this.cluster.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata }));
    valueOf(this.cluster.replace(NODES, { ...object, status: { conditions } }, 'rest'));
  }

  /** Changes the spec of the job. */
  edit(change: (spec: Fields) => Fields): void {
    const { job } = this;
    valueOf(this.cluster.replace(this.#kind.resource, { ...job, spec: change(job['spec'] as Fields) }, 'rest'));
  }

  /** Sets the annotations of the job. */
  annotate(annotations: Readonly<Record<string, string>>): void {
    const { job } = this;
    valueOf(this.cluster.replace(this.#kind.resource, { ...job, metadata: { ...job.metadata, annotations } }, 'rest'));
  }

  suspend(suspend: boolean): void {
    this.edit((spec) => ({ ...spec, runPolicy: { ...(spec['runPolicy'] as Fields | undefined), suspend } }));
  }

  /** Stops the operator's watches until they catch up again. */
  lag(isBehind: boolean): void {
    this.#behind = isBehind ? this.#stores() : null;
  }

  #stores(): OperatorStores {
    return {
      jobs: new Map([[this.#kind, this.#store(this.#kind.resource)]]),
      observed: this.cluster.historyOf(JOBS) === null ? new Store() : this.#store(JOBS),
      runs: this.#store(TRAINING_RUNS, { [SUBJECT_INDEX]: bySubject }),
      pods: this.#store(PODS, { [OWNER_INDEX]: byOwner, [ROOM_INDEX]: byRoom }),
      services: this.#store(SERVICES, { [OWNER_INDEX]: byOwner }),
      nodes: this.#store(NODES),
    };
  }

  world(): OperatorWorld {
    return {
      api: this.#api,
      clock: this.clock,
      stores: this.#behind ?? this.#stores(),
      voice: {
        event: (_: ApiObject, { reason, message }: EventNote) => void this.events.push(`${reason}: ${message}`),
        countJob: () => undefined,
        count: () => undefined,
      },
      settings: {
        initImage: 'alpine:3.10',
        initTries: 100,
        clusterDomain: null,
        gangScheduler: this.gangScheduler,
        hasNativeGangs: this.hasNativeGangs,
        supervision: { image: this.image, isForAll: false },
      },
      keepRunsMs: WEEK_MS,
      troubles: this.#troubles,
      lostNodes: this.#lostNodes,
      faultConditions: ['GpuBroken'],
      cloud: null,
      room: this.#room,
      progressOf: () => this.progress,
    };
  }

  #store(resource: Resource, indexes: Readonly<Record<string, IndexOf>> = {}): StoreReader {
    const store = new Store(indexes);
    store.replaceAll(this.cluster.all(resource));
    return store;
  }
}
