import type { ApiObject } from '../../src/kube/api/api-object.ts';
import { BUDGETS, EVENTS, NAMESPACES, NODES, PODS } from '../../src/kube/api/resources.ts';
import { plainKind } from '../../src/kube/memory/stored-kind.ts';
import { textAt } from '../../src/kube/objects/fields.ts';
import { makeRoom } from '../../src/operator/room/make-room.ts';
import type { Reconciled } from '../../src/kube/control/controller.ts';
import { PYTORCH_JOB } from '../../src/operator/kinds/pytorch.ts';
import { valueOf } from '../kube/memory-world.ts';
import { GangWorld } from './gang-world.ts';

type Fields = Readonly<Record<string, unknown>>;

export const gpus = (count: number): Fields => ({
  requests: { 'nvidia.com/gpu': String(count) },
  limits: { 'nvidia.com/gpu': String(count) },
});
const trainer = (command: readonly string[]): Fields => ({
  spec: { priority: 10, containers: [{ name: 'pytorch', image: 'i', command, resources: gpus(1) }] },
});
const SUPERVISED = ['holdfast', 'run', '--', 'python', 'train.py'];

/** What a {@link RoomWorld} is made from. */
export interface RoomWorldOptions {
  readonly command?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
  /** The job is elastic: so many workers run, and it trains with so many at least. */
  readonly elastic?: { readonly workers: number; readonly least: number };
}

/**
 * A node with two GPUs, or with one for each elastic worker; a gang that holds all of them; and a
 * pod of higher priority that asks for room. The test plays scheduler and kubelet.
 */
export class RoomWorld extends GangWorld {
  constructor({ command = SUPERVISED, annotations = {}, elastic }: RoomWorldOptions = {}) {
    const role = { replicas: elastic?.workers ?? 1, template: trainer(command) };
    const roles = elastic === undefined ? { Master: role, Worker: role } : { Worker: role };
    const elasticPolicy = { minReplicas: elastic?.least, maxReplicas: elastic?.workers };
    super(PYTORCH_JOB, { pytorchReplicaSpecs: roles, runPolicy: {}, ...(elastic === undefined ? {} : { elasticPolicy }) }, annotations);
    for (const resource of [NAMESPACES, EVENTS]) this.cluster.install(plainKind(resource));
    this.cluster.install(plainKind(BUDGETS, true));
    const allocatable = { cpu: '64', memory: '512Gi', pods: '110', 'nvidia.com/gpu': String(elastic?.workers ?? 2) };
    const status = { allocatable, nodeInfo: { kubeletVersion: 'v1.35.8' } };
    valueOf(this.cluster.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' }, spec: {}, status }));
  }

  /** The gang runs, and a pod that no node fits asks for its room. */
  async begin(pod: Fields = {}): Promise<void> {
    await this.start();
    this.ask(pod);
  }

  ask({ name = 'api', priority = 1000, annotations = {}, count = 1, ...spec }: Fields = {}): void {
    const metadata = {
      name: String(name),
      namespace: 'web',
      annotations: { 'holdfast.dev/make-room': 'true', ...(annotations as object) },
    };
    const containers = [{ name: 'api', image: 'i', resources: gpus(Number(count)) }];
    valueOf(
      this.cluster.create(PODS, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata,
        spec: { priority, preemptionPolicy: 'Never', containers, ...spec },
      }),
    );
    this.refuse(String(name));
  }

  /** The scheduler finds no node. */
  refuse(name: string): void {
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }];
    valueOf(this.cluster.replace(PODS, { ...this.asking(name), status: { phase: 'Pending', conditions } }, 'status'));
  }

  /** The pod that asks. */
  asking(name = 'api'): ApiObject {
    return valueOf(this.cluster.get(PODS, { namespace: 'web', name }));
  }

  has(name: string): boolean {
    return this.cluster.get(PODS, { namespace: 'web', name }).ok;
  }

  /** The scheduler binds the pod to the node that it was promised, and it runs. */
  bind(name = 'api'): void {
    const pod = this.asking(name);
    const nodeName = textAt(pod, 'status', 'nominatedNodeName');
    const bound = valueOf(this.cluster.replace(PODS, { ...pod, spec: { ...(pod['spec'] as Fields), nodeName } }, 'rest'));
    valueOf(this.cluster.replace(PODS, { ...bound, status: { phase: 'Running' } }, 'status'));
  }

  /** A budget that allows so many of the gang's pods to be disrupted. */
  budget(allowed: number, name = 'budget', labels: Fields = { 'training.kubeflow.org/job-name': 'j' }): void {
    const metadata = { name, namespace: 'n' };
    const made = valueOf(
      this.cluster.create(BUDGETS, {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata,
        spec: { selector: { matchLabels: labels } },
      }),
    );
    valueOf(this.cluster.replace(BUDGETS, { ...made, status: { disruptionsAllowed: allowed } }, 'status'));
  }

  /** Rank 0 reports its newest step, and a save so long ago. */
  report(step: number, lastGoodStep: number, lastGoodAgeMs: number): void {
    const measured = { loss: null, trial: null, accelerators: 2, unsavedAcceleratorSeconds: 2 * (lastGoodAgeMs / 1000), saveSeconds: 3 };
    this.progress = { step, lastGoodStep, lastGoodAgeMs, ...measured, readMs: this.clock.now() };
  }

  makeRoom(): Promise<Reconciled> {
    return makeRoom(this.world(), { signal: this.signal });
  }

  /** Looks at the pods that ask and at the job, in turn, until nothing changes. */
  async round(): Promise<void> {
    for (let passes = 0; passes < 20; passes++) {
      const before = this.cluster.version;
      await this.makeRoom();
      await this.reconcile();
      this.controlJobs();
      if (this.cluster.version === before) return;
    }
    throw new Error('the operator does not come to rest');
  }

  /** What the controllers of Kubernetes do. */
  controlJobs(): void {}

  get stage(): string | null {
    return textAt(this.run, 'status', 'room', 'stage');
  }

  /** `saves` and so on: the notices on the gang's pods. */
  get notices(): readonly (string | null)[] {
    const pods = this.cluster.all(PODS).filter(({ metadata }) => metadata.namespace === 'n');
    return pods.map(({ metadata }) => metadata.annotations?.['holdfast.dev/notice'] ?? null);
  }

  /** The conditions of the job, or what the operator has written on a Job. */
  get marks(): readonly string[] {
    return [this.conditions];
  }

  /** The pods of the gang. */
  override get pods(): readonly string[] {
    return super.pods.filter((name) => name.startsWith('j-'));
  }
}
