import type { DeclaredLoss } from '../../domain/gang/lost-node.ts';
import type { ContainerEnd, PodFacts } from '../../domain/gang/pod-end.ts';
import { parseTerminationMessage, type TerminationMessage } from '../../domain/exit/termination-message.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import { trueCondition } from '../../kube/objects/condition.ts';
import { objectOf } from '../../kube/objects/object.ts';
import { type Pod, podOf } from '../../kube/objects/pod.ts';
import { checkResultOf } from '../supervision/check-result.ts';
import { startsSupervisor } from '../supervision/names.ts';

/** What the end of a pod depends on of its node. */
export interface NodeState {
  /** When it was noticed that its kubelet does not report; null: it does. */
  readonly lostMs: number | null;
  /** The loss as the API server shows it; null: the kubelet reports. */
  readonly loss: DeclaredLoss | null;
  /** Since when the node reports a fault; null: it reports none. */
  readonly faultyMs: number | null;
}

/** A node that reports, and no fault. */
export const SOUND: NodeState = { lostMs: null, loss: null, faultyMs: null };

/** Where the trainer of a pod runs. */
export interface TrainingContainer {
  /** The name of its container. */
  readonly container: string;
  /** The user trusts exit code 0, also of a pod that was being deleted. */
  readonly trustsExitZero: boolean;
}

/** Whether the store refuses the writes of a pod once a newer attempt has begun. */
export function isFenced(subject: TrainingContainer, pod: Pod): boolean {
  return isSupervised(subject, pod) && !watches(trainingCommand(subject, pod));
}

/** Whether a supervisor saves for the training container of a pod. */
export function isSupervisedPod(container: string, object: ApiObject): boolean {
  const read = objectOf(object);
  return read !== null && isSupervised({ container }, podOf(read));
}

/** The facts that decide what the end of a pod means. */
export function podFactsOf(subject: TrainingContainer, pod: Pod, node: NodeState): PodFacts {
  const { object } = pod;
  const condition = trueCondition(pod.conditions, 'DisruptionTarget');
  const told = toldBy(subject, pod);
  const graceMs = (object.deletionGraceSeconds ?? 0) * 1000;
  return {
    isGone: false,
    phase: pod.phase,
    reason: pod.reason,
    message: pod.message,
    deletedMs: object.deletionMs === null ? null : object.deletionMs - graceMs,
    disruption: condition === null ? null : { reason: condition.reason, message: condition.message, sinceMs: condition.sinceMs },
    ended: endedOf(subject, pod),
    told,
    isSupervised: told !== null || isSupervised(subject, pod),
    trustsExitZero: subject.trustsExitZero,
    isNodeLost: node.lostMs !== null,
    // A pod that was created after the fault found no other room: to end it would help nobody.
    isNodeFaulty: node.faultyMs !== null && node.faultyMs > (object.createdMs ?? 0),
  };
}

/** The end of the training container; null where the kubelet restarts it in place. */
function endedOf({ container }: TrainingContainer, { containers, spec, phase }: Pod): ContainerEnd | null {
  const terminated = containers.find(({ name }) => name === container)?.terminated ?? null;
  if (terminated === null) return null;
  const { exitCode, reason, finishedMs } = terminated;
  const isOver = phase === 'Failed' || phase === 'Succeeded' || spec.restartPolicy === 'Never';
  return isOver || (spec.restartPolicy === 'OnFailure' && exitCode === 0) ? { exitCode, reason, finishedMs } : null;
}

/** The termination message of the supervisor of a pod; null: it wrote none. */
export function toldBy({ container }: TrainingContainer, { containers }: Pod): TerminationMessage | null {
  const message = containers.find(({ name }) => name === container)?.terminated?.message ?? null;
  const parsed = message === null ? null : parseTerminationMessage(message);
  return parsed?.ok === true ? parsed.value : null;
}

function trainingCommand({ container }: Pick<TrainingContainer, 'container'>, { spec }: Pod): readonly string[] {
  return spec.containers.find(({ name }) => name === container)?.command ?? [];
}

/** Whether the trainer runs under `holdfast run`: its command starts it, and no test refused it. */
function isSupervised(subject: Pick<TrainingContainer, 'container'>, pod: Pod): boolean {
  return startsSupervisor(trainingCommand(subject, pod)) && checkResultOf(pod)?.kind !== 'refused';
}

/**
 * Whether the supervisor follows the saves of a trainer that saves by itself: then nothing refuses
 * them.
 */
function watches(command: readonly string[]): boolean {
  const end = command.indexOf('--');
  return command.slice(0, end < 0 ? command.length : end).some((word) => word === '--watch' || word.startsWith('--watch='));
}
