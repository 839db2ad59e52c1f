import type { Rng } from '../../src/core/rng.ts';
import { timestamp } from '../../src/kube/api/timestamp.ts';
import { fieldsOf, numberAt } from '../../src/kube/objects/fields.ts';
import { type Body, isSupervised, type TrueJob } from './bodies.ts';
import type { ClusterTruth, TrueNode } from './cluster-truth.ts';
import { randomJob } from './job-shapes.ts';

/** Something that goes wrong, or that a user does. */
interface Trouble {
  readonly name: string;
  /** How often it comes, beside the others. */
  readonly weight: number;
  readonly strike: (truth: ClusterTruth, rng: Rng) => void;
}

const FAULT = 'GpuBroken';
/** The condition of nodes that the operator is told to watch for. */
export const FAULT_CONDITIONS: readonly string[] = [FAULT];

/** A trouble of a pod that runs, or that has none yet. */
function ofPod(name: string, weight: number, hit: (truth: ClusterTruth, body: Body, rng: Rng) => void): Trouble {
  const strike = (truth: ClusterTruth, rng: Rng): void => {
    const bodies = victims(truth);
    if (bodies.length === 0) return;
    const body = rng.pick(bodies);
    truth.note(`trouble: ${name} ${body.name}#${body.attempt}`);
    hit(truth, body, rng);
  };
  return { name, weight, strike };
}

function victims(truth: ClusterTruth): readonly Body[] {
  return truth
    .pods()
    .filter(([{ metadata }, { state, node }]) => state === 'running' && metadata.deletionTimestamp === undefined && !isLost(truth, node))
    .map(([, body]) => body);
}

function isLost({ nodes }: ClusterTruth, node: string | null): boolean {
  return nodes.some(({ name, isLost: lost }) => lost && name === node);
}

function disrupt(truth: ClusterTruth, body: Body, reason: string, message = ''): readonly unknown[] {
  const lastTransitionTime = timestamp(truth.clock.now());
  return [{ type: 'DisruptionTarget', status: 'True', reason, message, lastTransitionTime }];
}

/** The kubelet restarts a container in place, or the pod fails for good. */
function crash(truth: ClusterTruth, body: Body, death: { readonly exitCode: number; readonly line?: number; readonly why?: string }): void {
  const { exitCode, line = 0, why } = death;
  if (body.restartsInPlace) {
    body.restarts += 1;
    const name = truth.jobs.get(body.jobUid)?.shape.kind.container ?? '';
    return truth.setStatus(body, { containerStatuses: [{ name, state: { running: {} }, restartCount: body.restarts }] });
  }
  truth.injure(body, injuryOf(truth, body, { exitCode, line, why: why ?? null }));
  truth.end(body, exitCode, why === undefined ? {} : { why });
}

/** What the end of a container means, by the documentation. */
function injuryOf(truth: ClusterTruth, body: Body, { exitCode, line, why }: { exitCode: number; line: number; why: string | null }) {
  const base = { exitCode, line };
  const job = truth.jobs.get(body.jobUid);
  if (why === 'OOMKilled') return { ...base, kind: 'error', causes: ['OUT_OF_MEMORY'] } as const;
  if (why === 'ContainerStatusUnknown' || exitCode === 143) return { ...base, kind: 'doubt', causes: ['CANNOT_TELL'] } as const;
  if (job !== undefined && isSupervised(job)) {
    if (exitCode === 5 || exitCode === 75) return { ...base, kind: 'wait', causes: ['SUPERVISOR_REFUSED'] } as const;
    if (exitCode === 64) return { ...base, kind: 'unusable', causes: ['SUPERVISOR_REFUSED'] } as const;
  }
  return { ...base, kind: 'error', causes: ['TRAINER_FAILED', 'TRAINER_CRASHED'] } as const;
}

function removeForced(truth: ClusterTruth, body: Body): void {
  truth.injure(body, { kind: 'interruption', causes: ['POD_DELETED', 'NODE_LOST'] });
  body.isForced = true;
  truth.remove(body, { graceSeconds: 0 });
}

/** The cluster calls a node lost: its kubelet has not reported for a while. */
function declareLost(truth: ClusterTruth, node: TrueNode): void {
  const nowMs = truth.clock.now();
  Object.assign(node, { lostMs: nowMs, declaresMs: null });
  truth.note(`trouble: ${node.name} is lost`);
  const times = { lastTransitionTime: timestamp(nowMs), lastHeartbeatTime: timestamp(node.silentMs) };
  truth.setNode(node, [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }], [{ type: 'Ready', status: 'Unknown', ...times }]);
  for (const [, body] of truth.pods()) {
    if (body.node === node.name) truth.injure(body, { kind: 'interruption', causes: ['NODE_LOST', 'POD_DELETED', 'NODE_TAINT'] });
  }
}

/** A node loses its power: nothing on it acts any more, and its peers may fail at once. */
function silence(truth: ClusterTruth, node: TrueNode, declaredAfterMs: number): void {
  const nowMs = truth.clock.now();
  Object.assign(node, { isLost: true, isFaulty: false, lostMs: Infinity, silentMs: nowMs, declaresMs: nowMs + declaredAfterMs });
  if (declaredAfterMs > 0) truth.note(`trouble: ${node.name} falls silent`);
  else declareLost(truth, node);
}

/** The ranks that lose a peer on a silent node mostly fail because of that. */
function failPeers(truth: ClusterTruth, node: TrueNode, rng: Rng): void {
  const jobs = new Set(truth.pods().flatMap(([, body]) => (body.node === node.name && body.state === 'running' ? [body.jobUid] : [])));
  for (const body of victims(truth)) {
    if (jobs.has(body.jobUid) && rng.next() < 0.9) crash(truth, body, { exitCode: rng.pick([1, 1, 134, 143]), line: 1 });
  }
}

/** What the controller of nodes does once a silent node is past its grace. */
export function declareSilentNodes(truth: ClusterTruth): void {
  for (const node of truth.nodes) {
    if (node.isLost && node.declaresMs !== null && truth.clock.now() >= node.declaresMs) declareLost(truth, node);
  }
}

/** The kubelet reports again, and ends what the API server does not know any more. */
export function restoreNode(truth: ClusterTruth, node: TrueNode): void {
  if (!node.isLost && !node.isFaulty) return;
  Object.assign(node, { isLost: false, isFaulty: false, declaresMs: null });
  truth.note(`${node.name} is back`);
  truth.setNode(node, [], [{ type: 'Ready', status: 'True' }]);
}

/** What the taint manager does five minutes after the loss of a node. */
export function evictFromLostNodes(truth: ClusterTruth): void {
  for (const { name, isLost: lost, lostMs } of truth.nodes) {
    if (!lost || truth.clock.now() - lostMs < 300_000) continue;
    for (const [{ metadata }, body] of truth.pods()) {
      if (body.node !== name || metadata.deletionTimestamp !== undefined) continue;
      truth.setStatus(body, { conditions: disrupt(truth, body, 'DeletionByTaintManager') });
      truth.remove(body);
    }
  }
}

function ofJob(name: string, weight: number, act: (truth: ClusterTruth, job: TrueJob, rng: Rng) => void): Trouble {
  const strike = (truth: ClusterTruth, rng: Rng): void => {
    const jobs = [...truth.jobs.values()].filter((job) => truth.jobObject(job) !== null);
    if (jobs.length > 0) act(truth, rng.pick(jobs), rng);
  };
  return { name, weight, strike };
}

/** Suspends a job, or resumes it. */
export function suspend(truth: ClusterTruth, job: TrueJob, isSuspended: boolean): void {
  truth.editJob(job, isSuspended ? 'suspends' : 'resumes', (spec) => ({
    ...spec,
    runPolicy: { ...fieldsOf(spec['runPolicy']), suspend: isSuspended },
  }));
  if (isSuspended) job.wasSuspended = true;
}

/** A user may want the workers back while they still end. */
function scale(truth: ClusterTruth, job: TrueJob, rng: Rng): void {
  const object = truth.jobObject(job);
  const before = numberAt(object, 'spec', job.shape.kind.rolesField, 'Worker', 'replicas');
  if (before === null || numberAt(object, 'spec', 'elasticPolicy', 'minReplicas') === null) return;
  const replicas = rng.integer(1, 4);
  scaleTo(truth, job, replicas);
  const backMs = rng.integer(500, 8000);
  if (replicas < before && rng.next() < 0.5) void truth.clock.sleep(backMs).then(() => scaleTo(truth, job, before));
}

function scaleTo(truth: ClusterTruth, job: TrueJob, replicas: number): void {
  const { rolesField } = job.shape.kind;
  truth.editJob(job, `scales to ${replicas}`, (spec) => {
    const roles = fieldsOf(spec[rolesField]);
    return { ...spec, [rolesField]: { ...roles, Worker: { ...fieldsOf(roles['Worker']), replicas } } };
  });
}

/** The pods that decide about the success of a job have trained to the end. */
export function finish(truth: ClusterTruth, job: TrueJob): void {
  const bodies = truth.running(job.uid).filter((body) => truth.podOf(body) !== null && body.role !== 'PS');
  for (const body of bodies) {
    if (truth.podOf(body)?.metadata.deletionTimestamp !== undefined || isLost(truth, body.node)) continue;
    truth.note(`trainer: ${body.name}#${body.attempt} is done`);
    body.isFinished = true;
    truth.end(body, 0);
  }
}

const EVICTED = { reason: 'Evicted', message: 'The node was low on resource: memory. ' };
const OVER_LIMIT = { reason: 'Evicted', message: 'Usage of EmptyDir volume "tmp" exceeds the limit "1Mi". ' };
const SHUTDOWN = { reason: 'Terminated', message: 'Pod was terminated in response to imminent node shutdown.' };

/** Everything that happens to jobs, pods and nodes. */
const TROUBLES: readonly Trouble[] = [
  ofPod('a user deletes', 3, (truth, body) => {
    truth.injure(body, { kind: 'interruption', causes: ['POD_DELETED'] });
    truth.remove(body);
  }),
  ofPod('a drain evicts', 3, (truth, body) => {
    truth.injure(body, { kind: 'interruption', causes: ['API_EVICTION', 'POD_DELETED'] });
    truth.setStatus(body, { conditions: disrupt(truth, body, 'EvictionByEvictionAPI') });
    truth.remove(body);
  }),
  ofPod('the scheduler preempts', 1, (truth, body) => {
    truth.injure(body, { kind: 'interruption', causes: ['SCHEDULER_PREEMPTION', 'POD_DELETED'] });
    truth.setStatus(body, { conditions: disrupt(truth, body, 'PreemptionByScheduler') });
    truth.remove(body);
  }),
  ofPod('the kubelet evicts', 2, (truth, body) => {
    truth.injure(body, { kind: 'interruption', causes: ['MEMORY_PRESSURE'] });
    truth.end(body, 137, { ...EVICTED, conditions: disrupt(truth, body, 'TerminationByKubelet') });
  }),
  ofPod('a shutdown ends', 2, (truth, body, rng) => {
    truth.injure(body, { kind: 'interruption', causes: ['MACHINE_SHUTDOWN'] });
    truth.end(body, rng.pick([0, 143]), { ...SHUTDOWN, conditions: disrupt(truth, body, 'TerminationByKubelet') });
  }),
  ofPod('a storage limit ends', 1, (truth, body) => {
    truth.injure(body, { kind: 'error', exitCode: 137, causes: ['EMPTY_DIR_LIMIT'] });
    truth.end(body, 137, OVER_LIMIT);
  }),
  ofPod('an error ends', 5, (truth, body, rng) => {
    crash(truth, body, { exitCode: rng.pick([1, 1, 1, 2, 130, 139, 5, 75, 64]), line: rng.integer(0, 1) });
  }),
  ofPod('SIGTERM from nowhere ends', 2, (truth, body) => crash(truth, body, { exitCode: 143 })),
  ofPod('the kernel kills for memory', 2, (truth, body) => crash(truth, body, { exitCode: 137, why: 'OOMKilled' })),
  ofPod('a lost runtime forgets', 1, (truth, body) => crash(truth, body, { exitCode: 137, why: 'ContainerStatusUnknown' })),
  ofPod('a forced deletion removes', 2, removeForced),
  {
    name: 'all peers fail',
    weight: 2,
    strike: (truth) => {
      for (const body of victims(truth)) crash(truth, body, { exitCode: 1, line: 1 });
    },
  },
  {
    name: 'a node is lost',
    weight: 2,
    strike: (truth, rng) => {
      const sound = truth.nodes.filter(({ isLost: lost }) => !lost);
      if (sound.length > 0) silence(truth, rng.pick(sound), 0);
    },
  },
  {
    name: 'a node loses its power, and its peers fail before the cluster knows',
    weight: 5,
    strike: (truth, rng) => {
      const bodies = victims(truth);
      const name = bodies.length === 0 ? null : rng.pick(bodies).node;
      const node = truth.nodes.find((each) => each.name === name);
      if (node === undefined) return;
      silence(truth, node, rng.integer(1000, 100_000));
      failPeers(truth, node, rng);
    },
  },
  {
    name: 'a node is back',
    weight: 2,
    strike: (truth, rng) => restoreNode(truth, rng.pick(truth.nodes)),
  },
  {
    name: 'a node is faulty',
    weight: 1,
    strike: (truth, rng) => {
      const node = rng.pick(truth.nodes);
      if (node.isLost) return;
      node.isFaulty = true;
      truth.note(`trouble: ${node.name} is faulty`);
      const lastTransitionTime = timestamp(truth.clock.now());
      truth.setNode(node, [], [{ type: FAULT, status: 'True', lastTransitionTime }]);
      for (const [, body] of truth.pods()) {
        if (body.node === node.name) truth.injure(body, { kind: 'interruption', causes: ['NODE_FAULTY', 'POD_DELETED'] });
      }
    },
  },
  ofJob('suspend', 2, (truth, job) => suspend(truth, job, true)),
  ofJob('resume', 3, (truth, job) => suspend(truth, job, false)),
  ofJob('scale', 3, scale),
  ofJob('finish', 1, finish),
  ofJob('delete', 0.3, (truth, job, rng) => {
    truth.deleteJob(job);
    if (rng.next() < 0.5) truth.createJob(job.name, randomJob(rng));
  }),
];

/** Something goes wrong, by the weights of the table. */
export function letTroubleCome(truth: ClusterTruth, rng: Rng): void {
  let left = rng.next() * TROUBLES.reduce((sum, { weight }) => sum + weight, 0);
  const trouble = TROUBLES.find(({ weight }) => (left -= weight) < 0);
  trouble?.strike(truth, rng);
}
