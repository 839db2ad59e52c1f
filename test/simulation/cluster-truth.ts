import { VirtualClock } from '../../src/core/clock.ts';
import type { Rng } from '../../src/core/rng.ts';
import { type ApiObject, controllerReference, keyOf } from '../../src/kube/api/api-object.ts';
import type { Resource } from '../../src/kube/api/resource.ts';
import { CLAIMS, EVENTS, JOBS, LEASES, NODE_LEASE_NAMESPACE, NODES, PODS, SERVICES } from '../../src/kube/api/resources.ts';
import { timestamp } from '../../src/kube/api/timestamp.ts';
import { collectGarbage } from '../../src/kube/memory/garbage.ts';
import { MemoryCluster } from '../../src/kube/memory/memory-cluster.ts';
import { plainKind } from '../../src/kube/memory/stored-kind.ts';
import { fieldsOf, textAt } from '../../src/kube/objects/fields.ts';
import { ATTEMPT_LABEL, V1_LABELS } from '../../src/operator/kinds/names.ts';
import { roleOf } from '../../src/operator/kinds/parse-job.ts';
import { JOB_KINDS } from '../../src/operator/kinds/table.ts';
import { TRAINING_RUNS } from '../../src/operator/training-run/training-run.ts';
import type { Body, Injury, TrueJob } from './bodies.ts';
import type { JobShape } from './job-shapes.ts';

/** The namespace of every job. */
const NAMESPACE = 'n';
/** The kind of autoscalers, which the operator creates for elastic jobs. */
const AUTOSCALERS: Resource = {
  group: 'autoscaling',
  version: 'v2',
  plural: 'horizontalpodautoscalers',
  kind: 'HorizontalPodAutoscaler',
  isNamespaced: true,
};
/** The last lines that a trainer may leave. The number behind them changes in each attempt. */
const LINES = ['ValueError: the shapes differ at step', 'RuntimeError: NCCL timed out after'] as const;

/** A node, as it really is. */
export interface TrueNode {
  readonly name: string;
  isLost: boolean;
  /** When the cluster called it lost; infinite while its kubelet is only silent. */
  lostMs: number;
  isFaulty: boolean;
  /** When its kubelet fell silent for the last time. */
  silentMs: number;
  /** When the cluster will call it lost; null: it has, or it need not. */
  declaresMs: number | null;
}

/** The cluster as it is, beside what the API server shows of it. */
export class ClusterTruth {
  readonly clock = new VirtualClock();
  readonly cluster: MemoryCluster;
  readonly bodies = new Map<string, Body>();
  readonly jobs = new Map<string, TrueJob>();
  readonly nodes: readonly TrueNode[];
  readonly note: (line: string) => void;

  constructor(rng: Rng, note: (line: string) => void) {
    this.note = note;
    this.cluster = new MemoryCluster({
      clock: this.clock,
      rng: rng.fork('cluster'),
      kinds: [
        ...[NODES, SERVICES, EVENTS, LEASES, CLAIMS, JOBS, AUTOSCALERS].map((resource) => plainKind(resource)),
        { ...plainKind(PODS, true), isGraceful: true },
        ...[TRAINING_RUNS, ...JOB_KINDS.map(({ resource }) => resource)].map((resource) => plainKind(resource, true)),
      ],
    });
    this.nodes = ['node-0', 'node-1', 'node-2'].map((name) => ({
      name,
      isLost: false,
      lostMs: 0,
      isFaulty: false,
      silentMs: 0,
      declaresMs: null,
    }));
    for (const { name } of this.nodes) this.cluster.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  }

  /** The kubelets that are there renew the Leases of their nodes. */
  renewLeases(): void {
    const spec = { renewTime: new Date(this.clock.now()).toISOString() };
    for (const { name } of this.nodes.filter(({ isLost }) => !isLost)) {
      const metadata = { name, namespace: NODE_LEASE_NAMESPACE };
      const known = this.cluster.get(LEASES, metadata);
      if (known.ok) this.cluster.replace(LEASES, { ...known.value, spec }, 'rest');
      else this.cluster.create(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
    }
  }

  /** Creates a job, as a user does. */
  createJob(name: string, shape: JobShape): void {
    const { resource } = shape.kind;
    const metadata = { name, namespace: NAMESPACE, annotations: shape.annotations };
    const made = this.cluster.create(resource, { apiVersion: 'kubeflow.org/v1', kind: resource.kind, metadata, spec: shape.spec });
    if (!made.ok) return;
    const { uid } = made.value.metadata;
    this.jobs.set(uid, { uid, name, shape, step: 0, lastGoodStep: 0, wasSuspended: false, isDeleted: false });
    this.note(`user: creates ${resource.kind} ${name} (${uid.slice(0, 8)}) ${JSON.stringify(shape)}`);
  }

  /** The stored job; null: it is gone. */
  jobObject({ name, uid, shape }: TrueJob): ApiObject | null {
    const found = this.cluster.get(shape.kind.resource, { namespace: NAMESPACE, name });
    return found.ok && found.value.metadata.uid === uid ? found.value : null;
  }

  /** Changes the spec of a job, as a user does. */
  editJob(job: TrueJob, what: string, change: (spec: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>): void {
    const object = this.jobObject(job);
    if (object === null || object.metadata.deletionTimestamp !== undefined) return;
    this.cluster.replace(job.shape.kind.resource, { ...object, spec: change(fieldsOf(object['spec'])) }, 'rest');
    this.note(`user: ${what} ${job.name}`);
  }

  /** Deletes a job; its pods follow. */
  deleteJob(job: TrueJob): void {
    if (this.jobObject(job) === null) return;
    this.cluster.delete(job.shape.kind.resource, { namespace: NAMESPACE, name: job.name }, { propagation: 'Background' });
    this.note(`user: deletes ${job.name}`);
  }

  /** Serves owner references, as the garbage collector does. */
  collect(): void {
    for (const job of this.jobs.values()) {
      if (!job.isDeleted && this.jobObject(job) !== null) continue;
      const isNews = !job.isDeleted;
      job.isDeleted = true;
      // An operator whose watch lags may still create pods of the job: they go, too.
      for (const body of this.bodies.values()) {
        const isNew = isNews || body.injuries.length === 0;
        if (body.jobUid === job.uid && isNew) this.injure(body, { kind: 'interruption', causes: ['POD_DELETED'] });
      }
    }
    if ([...this.jobs.values()].some(({ isDeleted }) => isDeleted)) collectGarbage(this.cluster);
  }

  /** The pods of all jobs, each with its container. */
  pods(): readonly (readonly [ApiObject, Body])[] {
    return this.cluster.all(PODS).map((pod) => [pod, this.bodyOf(pod)] as const);
  }

  /** The stored pod of a body; null: it is gone. */
  podOf(body: Body): ApiObject | null {
    const found = this.cluster.get(PODS, { namespace: NAMESPACE, name: body.name });
    return found.ok && found.value.metadata.uid === body.uid ? found.value : null;
  }

  /** The container of a pod. */
  bodyOf(pod: ApiObject): Body {
    const { uid, name, labels = {} } = pod.metadata;
    const known = this.bodies.get(uid);
    if (known !== undefined) return known;
    const owner = controllerReference(pod);
    const job = this.jobs.get(owner?.uid ?? '');
    const body: Body = {
      uid,
      name,
      jobUid: owner?.uid ?? '',
      attempt: Number(labels[ATTEMPT_LABEL] ?? 1),
      role: job === undefined ? '' : roleOf(job.shape.kind, labels[V1_LABELS.replicaType] ?? ''),
      index: Number(labels[V1_LABELS.replicaIndex]),
      restartsInPlace: textAt(pod, 'spec', 'restartPolicy') !== 'Never',
      node: null,
      state: 'pending',
      endedMs: null,
      isForced: false,
      isFinished: false,
      isStuck: false,
      stopsMs: null,
      restarts: 0,
      injuries: [],
      isCharged: false,
    };
    this.bodies.set(uid, body);
    return body;
  }

  /** Records what really happened to a pod. */
  injure(body: Body, injury: Partial<Injury> & Pick<Injury, 'kind' | 'causes'>): void {
    body.injuries.push({ exitCode: null, line: 0, ...injury });
  }

  /** Deletes a pod, with its own grace or without its kubelet. */
  remove(body: Body, options: { readonly graceSeconds?: number } = {}): void {
    this.cluster.delete(PODS, { namespace: NAMESPACE, name: body.name }, { uid: body.uid, ...options });
  }

  /** Writes fields of the status of a pod, on top of those it has. */
  setStatus(body: Body, status: Readonly<Record<string, unknown>>): void {
    const pod = this.podOf(body);
    if (pod !== null) this.cluster.replace(PODS, { ...pod, status: { ...fieldsOf(pod['status']), ...status } }, 'status');
  }

  /** The training container of a pod ends for good, and its kubelet reports it. */
  end(body: Body, exitCode: number, more: Readonly<Record<string, unknown>> & { readonly why?: string } = {}): void {
    const { why = exitCode === 0 ? 'Completed' : 'Error', ...status } = more;
    Object.assign(body, { state: 'ended', endedMs: this.clock.now() });
    const terminated = { exitCode, reason: why, finishedAt: timestamp(this.clock.now()) };
    const name = this.jobs.get(body.jobUid)?.shape.kind.container ?? '';
    const containerStatuses = [{ name, state: { terminated }, restartCount: body.restarts }];
    this.setStatus(body, { phase: exitCode === 0 ? 'Succeeded' : 'Failed', containerStatuses, ...status });
  }

  /** Writes the taints and the conditions of a node. */
  setNode(node: TrueNode, taints: readonly unknown[], conditions: readonly unknown[]): void {
    const found = this.cluster.get(NODES, { namespace: null, name: node.name });
    if (!found.ok) return;
    this.cluster.replace(NODES, { ...found.value, spec: { taints }, status: { conditions } }, 'rest');
  }

  /** The bodies of a job that really run. */
  running(jobUid: string): readonly Body[] {
    return [...this.bodies.values()].filter((body) => body.jobUid === jobUid && body.state === 'running');
  }

  /** The text of the last line that the trainer of a body wrote. */
  logOf(name: string): string {
    const found = this.cluster.get(PODS, { namespace: NAMESPACE, name });
    const body = found.ok ? this.bodyOf(found.value) : null;
    const line = body?.injuries.find(({ kind }) => kind === 'error')?.line ?? 0;
    return `starting\n${LINES[line] ?? ''} ${(body?.attempt ?? 0) * 17}\n`;
  }

  /** What rank 0 of a supervised job reports; null: it does not answer. */
  statusOf(name: string): string | null {
    const found = this.cluster.get(PODS, { namespace: NAMESPACE, name });
    const body = found.ok ? this.bodyOf(found.value) : null;
    const job = this.jobs.get(body?.jobUid ?? '');
    if (body === null || job === undefined || body.state !== 'running') return null;
    const { step, lastGoodStep } = job;
    const lastGood = lastGoodStep === 0 ? {} : { lastGood: { step: lastGoodStep, ageSeconds: 5 } };
    return JSON.stringify({ schema: 'holdfast.status/1', progress: { step }, unsaved: { accelerators: 1 }, ...lastGood });
  }
}

/** A pod with its key, for a line of the log. */
export function podText(pod: ApiObject): string {
  return `${keyOf(pod).name}#${pod.metadata.labels?.[ATTEMPT_LABEL] ?? '-'}`;
}
