import { constants } from 'node:os';
import { CRITICAL_PRIORITY } from '../../kube/objects/cluster-state.ts';
import { trueCondition } from '../../kube/objects/condition.ts';
import type { EndCause } from '../../domain/causes/catalogue.ts';
import type { Pod } from '../../kube/objects/pod.ts';
import type { WhyFacts } from '../facts/facts.ts';
import { type Lead, type Rule, certain, likely } from '../facts/lead.ts';
import { cut, wasDeletedFirst } from './deletion.ts';
import { isSilent } from './disruption.ts';
import { short } from './pod-status.ts';

const PULL = /^(?:ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull|ImageInspectError|RegistryUnavailable)$/;
const NOT_STARTED = /^(?:CreateContainerConfigError|CreateContainerError|RunContainerError|StartError|ContainerCannotRun)$/;
/** Signals that a program raises itself. */
const OWN_SIGNALS = new Set([
  constants.signals.SIGILL,
  constants.signals.SIGABRT,
  constants.signals.SIGBUS,
  constants.signals.SIGFPE,
  constants.signals.SIGSEGV,
  constants.signals.SIGTRAP,
  constants.signals.SIGSYS,
]);

/** The kernel killed the container for its memory, and the runtime reports it. */
export const memory: Rule = ({ ended, pod, nodeEvents }) => {
  if (ended?.reason !== 'OOMKilled') return [];
  const hasLimit = pod?.spec.containers.some(({ memoryLimit }) => memoryLimit !== null) === true;
  const system = nodeEvents.find(({ reason }) => reason === 'SystemOOM');
  if (!hasLimit && system !== undefined)
    return [certain('NODE_OUT_OF_MEMORY', 'the container is OOMKilled, it has no limit, and its node has the event SystemOOM')];
  if (!hasLimit) return [likely('NODE_OUT_OF_MEMORY', 'the container is OOMKilled, and it has no memory limit of its own')];
  return [certain('OUT_OF_MEMORY', `the container has the reason OOMKilled (exit code ${ended.exitCode})`)];
};

/** Nothing ran, and the container or the scheduler reports why. */
export const neverRan: Rule = (facts) =>
  facts.pod === null ? [] : [...waits(facts, facts.pod), ...stillborn(facts), ...unscheduled(facts.pod)].slice(0, 1);

function waits({ container, events, ended }: WhyFacts, pod: Pod): readonly Lead[] {
  const states = [...(container === null ? [] : [container]), ...pod.initContainers, ...pod.containers];
  for (const { name, waiting } of states) {
    const cause = waiting === null ? null : waitCause(waiting.reason);
    if (waiting !== null && cause !== null)
      return [certain(cause, `container ${name} waits with ${waiting.reason}: “${short(waiting.message)}”`)];
  }
  if (ended !== null || pod.phase !== 'Pending') return [];
  const failed = events.find(({ reason, message }) => reason === 'Failed' && /pull/i.test(message));
  return failed === undefined ? [] : [likely('IMAGE_NOT_PULLED', `the event Failed: “${short(failed.message)}”`)];
}

function waitCause(reason: string): EndCause | null {
  if (PULL.test(reason)) return 'IMAGE_NOT_PULLED';
  return NOT_STARTED.test(reason) ? 'CONTAINER_NOT_STARTED' : null;
}

function stillborn({ ended }: WhyFacts): readonly Lead[] {
  if (ended === null || ended.reason === null || !NOT_STARTED.test(ended.reason)) return [];
  return [certain('CONTAINER_NOT_STARTED', `the container ended with ${ended.reason}: “${short(ended.message)}”`)];
}

function unscheduled({ conditions, spec }: Pod): readonly Lead[] {
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status !== 'False' || spec.nodeName !== null) return [];
  return [certain('POD_UNSCHEDULABLE', `the condition PodScheduled is false: “${short(scheduled.message ?? scheduled.reason)}”`)];
}

/** The exit code of a container that was not asked to stop. */
export const ownEnd: Rule = (facts) => {
  const { ended, message } = facts;
  if (ended === null || ended.exitCode === 0 || wasToldToEnd(facts)) return [];
  const isForeign = message !== null && message.end !== 'failed';
  return isForeign || NO_OWN_END.test(ended.reason ?? '') ? [] : byExitCode(ended.exitCode, facts);
};

/** With these reasons the code is not the program’s. */
const NO_OWN_END = /^(?:ContainerStatusUnknown|Unknown|OOMKilled|StartError|ContainerCannotRun|RunContainerError)$/;

/** Without the conditions or the node, the evidence of a request to stop may be gone as well. */
function hasWholeStatus({ pod, isNodeMissing }: WhyFacts): boolean {
  return pod !== null && pod.conditions.length > 0 && !isNodeMissing;
}

function byExitCode(exitCode: number, facts: WhyFacts): readonly Lead[] {
  const { container } = facts;
  if (exitCode === 126 || exitCode === 127)
    return [certain('CONTAINER_NOT_STARTED', `exit code ${exitCode}: a shell could not execute the program`)];
  if (exitCode < 126 || exitCode > 192) {
    const sure = hasWholeStatus(facts) ? certain : likely;
    return [
      sure(
        'TRAINER_FAILED',
        `container ${container?.name ?? ''} ended with its own exit code ${exitCode}, and nothing had asked it to stop`,
      ),
    ];
  }
  const signal = exitCode - 128;
  return OWN_SIGNALS.has(signal)
    ? [certain('TRAINER_CRASHED', `exit code ${exitCode}: signal ${signal}, which a program raises itself`)]
    : [];
}

/** Exit code 0: the pod finished, unless it was asked to stop before. */
export const finished: Rule = (facts) => {
  const { message, lane } = facts;
  if (message?.end === 'finished') return [certain('FINISHED', 'the supervisor reports it in the termination message')];
  if (lane?.end?.end === 'finished') return [certain('FINISHED', 'the ledger records that the run is finished')];
  return facts.ended?.exitCode === 0 && isOver(facts) && !wasToldToEnd(facts) ? untold(facts) : [];
};

function untold(facts: WhyFacts): readonly Lead[] {
  if (hasEventsOfEnd(facts)) return [certain('FINISHED', 'exit code 0, and no condition or event shows that it was asked to stop')];
  // Without events, exit code 0 proves nothing. A shutdown and a critical pod leave only their
  // condition on a pod that exits with 0.
  const isHidden = facts.pod?.conditions.length === 0 || storageLimits(facts).length > 0 || nodeTrouble(facts).length > 0;
  if (isHidden || !isNodeWell(facts)) return [];
  return [likely('FINISHED', 'exit code 0, nothing on the pod shows that it was asked to stop, and its node stayed healthy')];
}

/** Events expire by age. If one from before the end is still there, so are those about the end. */
function hasEventsOfEnd({ events, ended }: WhyFacts): boolean {
  const endMs = ended?.finishedMs ?? null;
  return endMs !== null && events.some(({ atMs }) => atMs !== null && cut(atMs) <= cut(endMs));
}

/** The node exists, and was ready and without pressure since before the container started. */
function isNodeWell({ node, ended }: WhyFacts): boolean {
  const startMs = ended?.startedMs ?? null;
  const isReady = node?.conditions.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
  if (node === null || startMs === null || !isReady) return false;
  return node.conditions
    .filter(({ type }) => type === 'Ready' || type.endsWith('Pressure'))
    .every(({ sinceMs }) => sinceMs !== null && sinceMs <= startMs);
}

/**
 * Storage limits that the pod may have exceeded. After exit code 0, only expired events would show
 * it.
 */
export function storageLimits({ pod }: WhyFacts): readonly Lead[] {
  if (pod === null) return [];
  const hasVolume = pod.spec.emptyDirs.some(({ sizeLimit }) => sizeLimit !== null);
  const hasLimit = pod.spec.containers.some(({ storageLimit }) => storageLimit !== null);
  return [
    ...(hasVolume
      ? [likely('EMPTY_DIR_LIMIT', 'it has an emptyDir with a sizeLimit, which leaves no trace when exceeded if the pod exits with 0')]
      : []),
    ...(hasLimit
      ? [
          likely(
            'EPHEMERAL_STORAGE_LIMIT',
            'it has a limit of ephemeral-storage, which leaves no trace when exceeded if the pod exits with 0',
          ),
        ]
      : []),
  ];
}

/** Conditions of its node that may have ended the pod, if its own condition and events are gone. */
export function nodeTrouble(facts: WhyFacts): readonly Lead[] {
  const { node } = facts;
  if (node === null) return [];
  const pressure = node.conditions.find(({ type, status }) => type.endsWith('Pressure') && status === 'True');
  const isDown = isSilent(node) || node.taints.some(({ key }) => NOT_READY.test(key));
  return [
    ...(pressure === undefined ? [] : [likely('NODE_PRESSURE', `its node shows ${pressure.type}`)]),
    ...(isDown ? [likely('MACHINE_SHUTDOWN', 'its node is not ready')] : []),
    ...(hasNewCriticalPod(facts) ? [likely('CRITICAL_POD', 'a critical pod came to its node while it ran')] : []),
  ];
}

const NOT_READY = /^node\.kubernetes\.io\/(?:not-ready|unreachable|out-of-service)$/;

/** Critical pods run on every node. One that was there before did not preempt this pod. */
function hasNewCriticalPod({ node, rivals, ended }: WhyFacts): boolean {
  const startMs = ended?.startedMs ?? Number.NEGATIVE_INFINITY;
  return rivals.some(
    ({ spec, startMs: beganMs }) =>
      (spec.priority ?? 0) >= CRITICAL_PRIORITY && spec.nodeName === node?.object.name && (beganMs === null || beganMs >= startMs),
  );
}

/** The pod runs, or waits for its first start. */
export const running: Rule = ({ pod, ended }) => {
  if (pod === null || pod.object.deletionMs !== null || pod.phase !== 'Running' || pod.reason !== null) return [];
  const done = pod.containers.filter(({ terminated }) => terminated !== null).map(({ name }) => name);
  if (ended === null && done.length === 0) return [certain('STILL_RUNNING', 'the phase is Running, and no container has ended')];
  const left = pod.containers.find(({ runningSinceMs }) => runningSinceMs !== null);
  if (left === undefined || (ended !== null && ended.exitCode !== 0)) return [];
  return [certain('STILL_RUNNING', `container ${done.join(', ')} ended with 0, and container ${left.name} keeps the pod running`)];
};

/**
 * The supervisor reported an end from outside. It writes a provisional message at the first notice.
 */
function saysInterrupted({ message, lane }: WhyFacts): boolean {
  if (message !== null) return message.provisional || message.end === 'interrupted' || message.end === 'killed';
  return lane?.end?.end === 'interrupted' || lane?.end?.end === 'killed';
}

/** Whether any evidence shows that the container was asked to stop before it ended. */
export function wasToldToEnd(facts: WhyFacts): boolean {
  const { pod, events, ended } = facts;
  if (pod === null) return false;
  if (saysInterrupted(facts)) return true;
  const initNames = new Set(pod.initContainers.map(({ name }) => name));
  // The kubelet stops a sidecar after the other containers have ended by themselves.
  const stopped = events.find(({ reason, message }) => reason === 'Killing' && !initNames.has(/container (\S+)/.exec(message)?.[1] ?? ''));
  const condition = trueCondition(pod.conditions, 'DisruptionTarget');
  const times = [
    ...(condition === null ? [] : [condition.sinceMs]),
    ...(stopped === undefined ? [] : [stopped.atMs]),
    ...(pod.reason === null ? [] : [null]),
  ];
  const endMs = ended?.finishedMs ?? null;
  // The owner or a cleanup may delete a pod after its end.
  return wasDeletedFirst(facts) !== false || times.some((ms) => ms === null || endMs === null || cut(ms) <= cut(endMs));
}

function isOver({ pod }: WhyFacts): boolean {
  return pod?.phase === 'Succeeded' || pod?.phase === 'Failed';
}
