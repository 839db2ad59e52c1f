import type { Recorded } from '../../ledger/events.ts';
import type { Lane } from '../../ledger/timeline.ts';
import { type TerminationMessage, parseTerminationMessage } from '../../domain/exit/termination-message.ts';
import type { ClusterState } from '../../kube/objects/cluster-state.ts';
import type { KubeEvent } from '../../kube/objects/event.ts';
import type { Job } from '../../kube/objects/job.ts';
import type { KubeNode } from '../../kube/objects/node.ts';
import { controllerOf } from '../../kube/objects/object.ts';
import type { ContainerState, Pod, Terminated } from '../../kube/objects/pod.ts';
import type { PodSpec } from '../../kube/objects/pod-spec.ts';
import { templatesOf } from '../../kube/objects/templates.ts';
import { attemptOfPod, type RecordedAttempt, type RunRecords } from './run-records.ts';

/** The state of the pod’s owner. */
type OwnerState = 'there' | 'terminating' | 'gone' | 'unknown';

/** The records of runs: a ledger, and TrainingRuns. */
export interface Records {
  readonly lanes: readonly Lane[];
  readonly events: readonly Recorded[];
  readonly runs: RunRecords;
}

/** All known facts about the end of one pod, or of one attempt without its pod. */
export interface WhyFacts {
  readonly pod: Pod | null;
  /** The spec of the pod; where it is gone, that of its job's template. */
  readonly spec: PodSpec | null;
  readonly events: readonly KubeEvent[];
  readonly job: Job | null;
  readonly jobEvents: readonly KubeEvent[];
  readonly owner: OwnerState;
  readonly node: KubeNode | null;
  /** The pod’s node is not among the nodes read. */
  readonly isNodeMissing: boolean;
  readonly nodeEvents: readonly KubeEvent[];
  /** An eviction or a preemption would have left its condition on the pod. */
  readonly marksDisruptions: boolean;
  /** Other pods that may have taken its place on its node. */
  readonly rivals: readonly Pod[];
  /**
   * The container that shows the cause: the one out of memory, or else the one that failed first.
   */
  readonly container: ContainerState | null;
  readonly ended: Terminated | null;
  readonly message: TerminationMessage | null;
  readonly lane: Lane | null;
  /** The whole ledger of the run, for the duration of its saves. */
  readonly ledger: readonly Recorded[];
  /** The attempt in the run's TrainingRun. */
  readonly recorded: RecordedAttempt | null;
}

/** The facts about one pod of a cluster or a dump. */
export function factsOfPod(pod: Pod, state: ClusterState, { lanes, events, runs }: Records): WhyFacts {
  const owner = controllerOf(pod.object);
  const { namespace } = pod.object;
  const job = owner?.kind === 'Job' ? state.job({ name: owner.name, namespace }) : null;
  const node = pod.spec.nodeName === null ? null : state.node(pod.spec.nodeName);
  const container = tellingContainer(pod);
  const ended = container?.terminated ?? container?.lastTerminated ?? null;
  const message = messageOf(ended);
  return {
    pod,
    spec: pod.spec,
    events: state.eventsAbout(pod.object),
    job,
    jobEvents: job === null ? [] : state.eventsAbout(job.object),
    owner: ownerState(pod, state),
    node,
    isNodeMissing: pod.spec.nodeName !== null && node === null && state.hasNodes,
    nodeEvents: pod.spec.nodeName === null ? [] : state.eventsAbout({ kind: 'Node', name: pod.spec.nodeName, namespace: null }),
    marksDisruptions: state.marksDisruptions,
    rivals: rivalsOf(pod, state),
    container,
    ended,
    message,
    lane: laneOf(pod, message, lanes),
    ledger: events,
    recorded: attemptOfPod(runs, pod),
  };
}

/** The facts about an attempt that only the ledger knows. */
export function factsOfLane(lane: Lane, events: readonly Recorded[]): WhyFacts {
  return { ...NO_FACTS, lane, ledger: events };
}

/** The facts about an attempt whose pods are gone, and that a TrainingRun records. */
export function factsOfRecord(recorded: RecordedAttempt, state: ClusterState): WhyFacts {
  const { run, end } = recorded;
  const [job] = state.find(run.job.kind, run.job.name, run.object.namespace);
  const templates = job === undefined ? [] : templatesOf(job);
  // The operator names a pod JOB-ROLE-INDEX.
  const ofRole = templates.find(({ role }) => role !== null && end?.pod?.includes(`-${role.toLowerCase()}-`) === true);
  const node = end?.node ?? null;
  return {
    ...NO_FACTS,
    spec: (ofRole ?? templates[0])?.spec ?? null,
    node: node === null ? null : state.node(node),
    recorded,
  };
}

const NO_FACTS: WhyFacts = {
  pod: null,
  spec: null,
  events: [],
  job: null,
  jobEvents: [],
  owner: 'unknown',
  node: null,
  isNodeMissing: false,
  nodeEvents: [],
  marksDisruptions: false,
  rivals: [],
  container: null,
  ended: null,
  message: null,
  lane: null,
  ledger: [],
  recorded: null,
};

function tellingContainer({ containers, initContainers }: Pod): ContainerState | null {
  const bad = firstToFail(containers);
  const hasBegun = containers.some(({ terminated, lastTerminated, runningSinceMs }) => terminated ?? lastTerminated ?? runningSinceMs);
  return (
    containers.find(({ terminated }) => terminated?.reason === 'OOMKilled') ??
    bad ??
    // An init container failed, so the others wait for ever.
    (hasBegun ? null : firstToFail(initContainers)) ??
    containers.find(({ waiting }) => waiting !== null) ??
    containers[0] ??
    null
  );
}

/** The container that failed first: the others may have ended because of it. */
function firstToFail(containers: readonly ContainerState[]): ContainerState | null {
  // The end of a container that waits for a restart is in its last state. One that runs again is
  // past its end.
  const endOf = ({ terminated, lastTerminated, waiting }: ContainerState): Terminated | null =>
    terminated ?? (waiting === null ? null : lastTerminated);
  const endMs = (each: ContainerState): number => endOf(each)?.finishedMs ?? Number.MAX_SAFE_INTEGER;
  const failed = containers.filter((each) => (endOf(each)?.exitCode ?? 0) !== 0);
  return failed.toSorted((a, b) => endMs(a) - endMs(b))[0] ?? null;
}

function messageOf(ended: Terminated | null): TerminationMessage | null {
  if (ended?.message === null || ended === null) return null;
  const parsed = parseTerminationMessage(ended.message);
  return parsed.ok ? parsed.value : null;
}

function ownerState({ object }: Pod, state: ClusterState): OwnerState {
  const owner = controllerOf(object);
  if (owner === null) return 'unknown';
  const found = state
    .find(owner.kind, owner.name, object.namespace)
    .find(({ uid }) => uid === null || owner.uid === null || uid === owner.uid);
  if (found !== undefined) return found.deletionMs === null ? 'there' : 'terminating';
  // A dump of pods alone says nothing about Jobs.
  const isKindKnown = !state.unread.has(owner.kind) && state.hasKind(owner.kind);
  return isKindKnown ? 'gone' : 'unknown';
}

function rivalsOf({ object, spec }: Pod, state: ClusterState): readonly Pod[] {
  if (spec.nodeName === null) return [];
  return state.rivalsOn(spec.nodeName).filter((pod) => pod.object !== object);
}

/**
 * The attempt that ran while the pod did. The supervisor’s termination message names it, if there
 * is one.
 */
function laneOf(pod: Pod, message: TerminationMessage | null, lanes: readonly Lane[]): Lane | null {
  if (message?.attempt !== null && message !== null) return lanes.find(({ attempt }) => attempt === message.attempt) ?? null;
  const start = pod.startMs ?? pod.object.createdMs;
  if (start === null) return lanes.length === 1 ? (lanes[0] ?? null) : null;
  const end = pod.containers.reduce((most, { terminated }) => Math.max(most, terminated?.finishedMs ?? 0), 0) || Number.POSITIVE_INFINITY;
  return lanes.findLast(({ startedMs }) => startedMs >= start && startedMs <= end) ?? null;
}
