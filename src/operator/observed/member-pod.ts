import type { TerminationMessage } from '../../domain/exit/termination-message.ts';
import { type ContainerEnd, judgePod, type PodEnd } from '../../domain/gang/pod-end.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import { objectOf } from '../../kube/objects/object.ts';
import { podOf } from '../../kube/objects/pod.ts';
import { acceleratorsOf } from '../../kube/objects/pod-spec.ts';
import { ASK_ANNOTATIONS, ASKED_BY } from '../kinds/annotations.ts';
import { isFenced, type NodeState, podFactsOf, SOUND, toldBy } from '../reconcile/pod-facts.ts';
import type { ObservedJob } from './observed-job.ts';

/** A pod of a Job that the operator observes. */
export interface MemberPod {
  readonly name: string;
  readonly uid: string;
  /** Its completion index; null: the Job has none. */
  readonly index: number | null;
  readonly createdMs: number;
  readonly phase: string | null;
  readonly node: string | null;
  /** When it was noticed that its node does not report; null: it does. */
  readonly nodeLostMs: number | null;
  /** The store refuses its writes once a newer attempt has begun. */
  readonly isFenced: boolean;
  readonly end: PodEnd;
  readonly ended: ContainerEnd | null;
  /** Null: no supervisor wrote one. */
  readonly told: TerminationMessage | null;
  readonly accelerators: number;
  readonly isTerminating: boolean;
  /** The operator has asked its supervisor for a save. */
  readonly isAsked: boolean;
}

const INDEX_LABEL = 'batch.kubernetes.io/job-completion-index';

/** Reads a pod of a Job; null: it is no pod. */
export function memberPodOf(job: ObservedJob, object: ApiObject, stateOf: (node: string) => NodeState): MemberPod | null {
  const read = objectOf(object);
  if (read === null) return null;
  const pod = podOf(read);
  const node = pod.spec.nodeName === null ? SOUND : stateOf(pod.spec.nodeName);
  const subject = { container: job.container, trustsExitZero: job.choices.trustsExitZero };
  const facts = podFactsOf(subject, pod, node);
  const index = pod.labels.get(INDEX_LABEL) ?? '';
  return {
    name: object.metadata.name,
    uid: object.metadata.uid,
    index: /^\d{1,9}$/.test(index) ? Number(index) : null,
    createdMs: read.createdMs ?? 0,
    phase: pod.phase,
    node: pod.spec.nodeName,
    nodeLostMs: node.lostMs,
    isFenced: isFenced(subject, pod),
    end: judgePod(facts),
    ended: facts.ended,
    told: toldBy(subject, pod),
    accelerators: acceleratorsOf(pod.spec),
    isTerminating: read.deletionMs !== null,
    isAsked: pod.object.annotations.get(ASK_ANNOTATIONS.from) === ASKED_BY,
  };
}
