import type { Rng } from '../../src/core/rng.ts';
import type { ApiObject } from '../../src/kube/api/api-object.ts';
import { PODS } from '../../src/kube/api/resources.ts';
import { fieldsOf, numberAt, textAt } from '../../src/kube/objects/fields.ts';
import type { Body } from './bodies.ts';
import { type ClusterTruth, podText } from './cluster-truth.ts';

/** How eager the scheduler and the kubelets are: the share of pods that move in each round. */
export interface Pace {
  readonly share: number;
  /** The share of pods whose image is never pulled. */
  readonly stuckShare: number;
}

const UNSCHEDULABLE = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }];
/** How a trainer may end after SIGTERM: saved and left, saved and said so, too slow, confused. */
const EXITS_AFTER_SIGTERM = [0, 143, 137, 1] as const;

/** One round of the scheduler and of all kubelets. `started` hears of each new container. */
export function playKubelets(truth: ClusterTruth, rng: Rng, pace: Pace, started: (body: Body) => void): void {
  truth.renewLeases();
  for (const [pod, body] of truth.pods()) {
    if (rng.next() < pace.share) playPod(truth, rng, { pod, body, pace, started });
  }
  for (const body of truth.bodies.values()) endLeftover(truth, body);
  for (const job of truth.jobs.values()) train(truth, rng, job.uid);
}

interface Turn {
  readonly pod: ApiObject;
  readonly body: Body;
  readonly pace: Pace;
  readonly started: (body: Body) => void;
}

function playPod(truth: ClusterTruth, rng: Rng, turn: Turn): void {
  const { pod, body } = turn;
  if (body.node === null) return bind(truth, rng, pod, body);
  if (isOnLostNode(truth, body)) return;
  if (pod.metadata.deletionTimestamp !== undefined) return stop(truth, rng, pod, body);
  if (body.state === 'pending' && textAt(pod, 'status', 'phase') === 'Pending') start(truth, rng, turn);
}

function isOnLostNode(truth: ClusterTruth, { node }: Body): boolean {
  return truth.nodes.some(({ name, isLost }) => name === node && isLost);
}

function bind(truth: ClusterTruth, rng: Rng, pod: ApiObject, body: Body): void {
  if (pod.metadata.deletionTimestamp !== undefined) return;
  const sound = truth.nodes.filter(({ isLost }) => !isLost);
  if (sound.length === 0 || rng.next() < 0.1) return truth.setStatus(body, { conditions: UNSCHEDULABLE });
  const { name, isFaulty } = rng.pick(sound);
  const bound = truth.cluster.replace(PODS, { ...pod, spec: { ...fieldsOf(pod['spec']), nodeName: name } }, 'rest');
  if (!bound.ok) return;
  body.node = name;
  if (isFaulty) truth.injure(body, { kind: 'interruption', causes: ['NODE_FAULTY'] });
}

function start(truth: ClusterTruth, rng: Rng, { pod, body, pace, started }: Turn): void {
  if (!body.isStuck && rng.next() < pace.stuckShare) body.isStuck = true;
  const name = truth.jobs.get(body.jobUid)?.shape.kind.container ?? '';
  if (body.isStuck) {
    return truth.setStatus(body, { containerStatuses: [{ name, state: { waiting: { reason: 'ImagePullBackOff' } } }] });
  }
  body.state = 'running';
  truth.note(`kubelet: starts ${podText(pod)} on ${body.node ?? ''}`);
  truth.setStatus(body, { phase: 'Running', podIP: '10.0.0.1', conditions: [], containerStatuses: [{ name, state: { running: {} } }] });
  started(body);
}

/** A pod that is being deleted: SIGTERM, some time, and the end of its container and object. */
function stop(truth: ClusterTruth, rng: Rng, pod: ApiObject, body: Body): void {
  const nowMs = truth.clock.now();
  if (body.state !== 'running') {
    truth.note(`kubelet: ${podText(pod)} is gone`);
    return truth.remove(body, { graceSeconds: 0 });
  }
  const graceMs = (numberAt(pod, 'metadata', 'deletionGracePeriodSeconds') ?? 30) * 1000;
  body.stopsMs ??= nowMs + rng.integer(0, graceMs);
  if (nowMs < body.stopsMs) return;
  const exitCode = rng.pick(EXITS_AFTER_SIGTERM);
  truth.note(`kubelet: ${podText(pod)} exits with ${exitCode} after SIGTERM`);
  truth.end(body, exitCode);
}

/** A kubelet that is there ends a container whose pod was removed without it. */
function endLeftover(truth: ClusterTruth, body: Body): void {
  if (body.state !== 'running' || truth.podOf(body) !== null || isOnLostNode(truth, body)) return;
  Object.assign(body, { state: 'ended', endedMs: truth.clock.now() });
  truth.note(`kubelet: ends what was left of ${body.name}#${body.attempt}`);
}

/** A job whose whole gang runs makes steps, and saves now and then. */
function train(truth: ClusterTruth, rng: Rng, uid: string): void {
  const job = truth.jobs.get(uid);
  const bodies = truth.running(uid);
  if (job === undefined || bodies.length === 0 || bodies.some(({ isStuck }) => isStuck)) return;
  if (rng.next() < 0.3) job.step += rng.integer(1, 5);
  if (rng.next() < 0.1) job.lastGoodStep = job.step;
}
