import type { TerminationMessage } from '../../domain/exit/termination-message.ts';
import type { DeclaredLoss } from '../../domain/gang/lost-node.ts';
import { type ContainerEnd, judgePod, type PodEnd } from '../../domain/gang/pod-end.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import { listAt, textAt } from '../../kube/objects/fields.ts';
import { objectOf } from '../../kube/objects/object.ts';
import { acceleratorsOf } from '../../kube/objects/pod-spec.ts';
import { type Pod, podOf } from '../../kube/objects/pod.ts';
import { ASK_ANNOTATIONS, ASKED_BY } from '../kinds/annotations.ts';
import { ATTEMPT_LABEL, V1_LABELS } from '../kinds/names.ts';
import type { TrainingJob } from '../kinds/kind.ts';
import { roleOf } from '../kinds/parse-job.ts';
import { type CheckResult, checkResultOf } from '../supervision/check-result.ts';
import { isFenced, type NodeState, podFactsOf, SOUND, toldBy } from './pod-facts.ts';

/** A pod of a job, as a reconcile sees it. */
export interface ObservedPod {
  readonly name: string;
  readonly uid: string;
  readonly role: string;
  /** Negative: the label is missing or is no number. */
  readonly index: number;
  /** The attempt of its label; `withAdopted` knows that of a pod without one. */
  readonly attempt: number;
  /** Another controller has created it: it has no label of an attempt. */
  readonly isForeign: boolean;
  readonly createdMs: number;
  readonly phase: string | null;
  readonly isTerminating: boolean;
  readonly node: string | null;
  /** When it was noticed that its node does not report; null: it does. */
  readonly nodeLostMs: number | null;
  /** The loss of its node as the API server shows it; null: its kubelet reports. */
  readonly nodeLoss: DeclaredLoss | null;
  /** The store refuses its writes once a newer attempt has begun. */
  readonly isFenced: boolean;
  /** Its end was forced: nothing but finalizers holds it. */
  readonly isForced: boolean;
  readonly finalizers: readonly string[];
  /** The PersistentVolumeClaims that it mounts. */
  readonly claims: readonly string[];
  readonly end: PodEnd;
  readonly ended: ContainerEnd | null;
  /** Null: no supervisor wrote one. */
  readonly told: TerminationMessage | null;
  /** Whether the supervisor runs in it; null: the operator put none there. */
  readonly check: CheckResult | null;
  readonly accelerators: number;
  /** How often the kubelet restarted containers in place. */
  readonly restarts: number;
  readonly ip: string | null;
  /** No node fits it now. */
  readonly isUnschedulable: boolean;
  /** Why that is, in the words of the scheduler. */
  readonly unschedulableFor: string | null;
  /** Why containers of it wait, in the words of the kubelet. */
  readonly waiting: readonly { readonly reason: string; readonly message: string | null }[];
  /** One of its containers has started, which may be an init container. */
  readonly hasBegun: boolean;
  /** The operator has asked its supervisor for a save. */
  readonly isAsked: boolean;
}

/** Reads a pod of a job. */
export function observePod(job: TrainingJob, object: ApiObject, stateOf: (node: string) => NodeState): ObservedPod | null {
  const read = objectOf(object);
  if (read === null) return null;
  const pod = podOf(read);
  const node = pod.spec.nodeName === null ? SOUND : stateOf(pod.spec.nodeName);
  const subject = { container: job.kind.container, trustsExitZero: job.choices.trustsExitZero };
  const facts = podFactsOf(subject, pod, node);
  const containers = [...pod.initContainers, ...pod.containers];
  const label = object.metadata.labels?.[ATTEMPT_LABEL];
  const index = pod.labels.get(V1_LABELS.replicaIndex) ?? '';
  return {
    name: object.metadata.name,
    uid: object.metadata.uid,
    role: roleOf(job.kind, pod.labels.get(V1_LABELS.replicaType) ?? ''),
    index: /^\d{1,6}$/.test(index) ? Number(index) : -1,
    attempt: label !== undefined && /^\d{1,9}$/.test(label) ? Number(label) : 1,
    isForeign: label === undefined,
    createdMs: read.createdMs ?? 0,
    phase: pod.phase,
    isTerminating: read.deletionMs !== null,
    node: pod.spec.nodeName,
    nodeLostMs: node.lostMs,
    nodeLoss: node.loss,
    isFenced: isFenced(subject, pod),
    isForced: read.deletionMs !== null && read.deletionGraceSeconds === 0,
    finalizers: object.metadata.finalizers ?? [],
    claims: listAt(object, 'spec', 'volumes').flatMap((volume) => textAt(volume, 'persistentVolumeClaim', 'claimName') ?? []),
    end: judgePod(facts),
    ended: facts.ended,
    told: toldBy(subject, pod),
    check: checkResultOf(pod),
    accelerators: acceleratorsOf(pod.spec),
    restarts: containers.reduce((sum, { restarts }) => sum + restarts, 0),
    ip: ipOf(read.fields),
    ...unschedulable(pod),
    waiting: containers.flatMap(({ waiting }) => waiting ?? []),
    hasBegun: containers.some(({ runningSinceMs, terminated }) => runningSinceMs !== null || terminated !== null),
    isAsked: pod.object.annotations.get(ASK_ANNOTATIONS.from) === ASKED_BY,
  };
}

function unschedulable({ conditions }: Pod): Pick<ObservedPod, 'isUnschedulable' | 'unschedulableFor'> {
  const found = conditions.find(({ type, status, reason }) => type === 'PodScheduled' && status === 'False' && reason === 'Unschedulable');
  return { isUnschedulable: found !== undefined, unschedulableFor: found?.message ?? null };
}

function ipOf(fields: Readonly<Record<string, unknown>>): string | null {
  const status = fields['status'];
  const ip = typeof status === 'object' && status !== null && 'podIP' in status ? status.podIP : null;
  return typeof ip === 'string' ? ip : null;
}
