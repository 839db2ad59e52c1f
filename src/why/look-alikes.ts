import { noticesOf } from './rules/ledger.ts';
import type { EndCause } from '../domain/causes/catalogue.ts';
import { type Condition, trueCondition } from '../kube/objects/condition.ts';
import type { Pod, Terminated } from '../kube/objects/pod.ts';
import type { WhyFacts } from './facts/facts.ts';
import { nodeTrouble, storageLimits, wasToldToEnd } from './rules/container.ts';
import { lookAlikesOfDeletion } from './rules/deletion.ts';

/** A similar cause, and the evidence against it. */
export interface Refuted {
  readonly cause: EndCause;
  readonly because: string;
}

/** Causes that look the same in a list of pods: the same phase, and exit code 137 or 143. */
const ALIKE: readonly (readonly EndCause[])[] = [
  ['SCHEDULER_PREEMPTION', 'API_EVICTION', 'NODE_TAINT', 'NODE_LOST', 'POD_DELETED', 'JOB_SUSPENDED', 'OUT_OF_MEMORY'],
  ['MEMORY_PRESSURE', 'DISK_PRESSURE', 'PID_PRESSURE', 'EMPTY_DIR_LIMIT', 'EPHEMERAL_STORAGE_LIMIT', 'POD_REJECTED', 'OUT_OF_MEMORY'],
  ['MACHINE_SHUTDOWN', 'CRITICAL_POD', 'SPOT_RECLAIM', 'NODE_DELETED', 'API_EVICTION'],
  ['OUT_OF_MEMORY', 'MEMORY_PRESSURE', 'TRAINER_FAILED', 'NODE_OUT_OF_MEMORY'],
  ['TRAINER_FAILED', 'OUT_OF_MEMORY', 'TRAINER_HUNG', 'POD_DELETED'],
  ['JOB_DEADLINE', 'JOB_ENDED', 'POD_DELETED', 'JOB_SUSPENDED'],
];

/** The number of similar causes in an answer. */
const MOST = 4;

/** The causes that look like this one, and the evidence against each. */
export function lookAlikesOf(cause: EndCause, facts: WhyFacts): readonly Refuted[] {
  const group = ALIKE.find(([first]) => first === cause) ?? ALIKE.find((causes) => causes.includes(cause)) ?? [];
  return group
    .filter((other) => other !== cause)
    .flatMap((other) => {
      const because = refute(other, cause, facts);
      return because === null ? [] : [{ cause: other, because }];
    })
    .slice(0, MOST);
}

/** The evidence against a cause, or null without any. */
function refute(other: EndCause, cause: EndCause, facts: WhyFacts): string | null {
  const { pod } = facts;
  if (pod === null || other === cause) return null;
  const condition = trueCondition(pod.conditions, 'DisruptionTarget');
  const setBy = SET_ITS_CONDITION[other];
  if (setBy !== undefined) return withoutCondition(pod, condition, setBy);
  if (LIMITS.has(other)) {
    if (condition !== null) return 'a limit sets no condition DisruptionTarget';
    return pod.reason === 'Evicted' ? null : 'the pod’s reason is not Evicted';
  }
  return REFUTED[other]?.(facts, condition) ?? null;
}

function withoutCondition(pod: Pod, condition: Condition | null, setBy: string): string | null {
  if (condition === null) return pod.conditions.length === 0 ? null : 'it would have set the condition DisruptionTarget';
  return condition.reason === setBy ? null : `the condition says ${condition.reason ?? 'nothing'}, not ${setBy}`;
}

type Refute = (facts: WhyFacts, condition: Condition | null) => string | null;

const REFUTED: Partial<Readonly<Record<EndCause, Refute>>> = {
  OUT_OF_MEMORY: ({ ended }) =>
    ended === null || ended.reason === 'OOMKilled' ? null : `the reason of the container is ${ended.reason ?? 'empty'}, not OOMKilled`,
  POD_DELETED: ({ pod }, condition) => {
    if (pod?.object.deletionMs === null) return 'the pod has no deletionTimestamp';
    return condition === null ? null : 'a plain delete sets no condition DisruptionTarget';
  },
  JOB_SUSPENDED: ({ job }) => (job === null || job.isSuspended ? null : 'its Job is not suspended'),
  SPOT_RECLAIM: ({ lane, message }) => (lane === null && message === null ? null : 'the supervisor received no notice from the cloud'),
  TRAINER_FAILED: ({ ended }) => (ended?.exitCode === 137 ? 'exit code 137 is a kill from outside' : null),
  TRAINER_HUNG: ({ lane }) => (lane === null ? null : 'the ledger records no hang'),
  POD_REJECTED: ({ ended }) => (ended === null ? null : 'its container ran'),
};

const SET_ITS_CONDITION: Partial<Readonly<Record<EndCause, string>>> = {
  SCHEDULER_PREEMPTION: 'PreemptionByScheduler',
  API_EVICTION: 'EvictionByEvictionAPI',
  NODE_TAINT: 'DeletionByTaintManager',
  NODE_LOST: 'DeletionByTaintManager',
  NODE_DELETED: 'DeletionByPodGC',
  MACHINE_SHUTDOWN: 'TerminationByKubelet',
  CRITICAL_POD: 'TerminationByKubelet',
  MEMORY_PRESSURE: 'TerminationByKubelet',
  DISK_PRESSURE: 'TerminationByKubelet',
  PID_PRESSURE: 'TerminationByKubelet',
};
const LIMITS: ReadonlySet<EndCause> = new Set(['EMPTY_DIR_LIMIT', 'EPHEMERAL_STORAGE_LIMIT']);

/** The known evidence, the missing evidence, and every cause that fits, for `CANNOT_TELL`. */
export function missingEvidence(facts: WhyFacts): {
  readonly evidence: readonly string[];
  readonly missing: readonly string[];
  readonly candidates: readonly EndCause[];
} {
  return { evidence: knownAbout(facts), missing: missingAbout(facts), candidates: candidatesOf(facts) };
}

function knownAbout(facts: WhyFacts): readonly string[] {
  const { pod, ended, message } = facts;
  const heard = noticesOf(facts).map(({ cause }) => cause);
  const noticed =
    heard.length === 0 ? [] : [`the supervisor received a notice (${[...new Set(heard)].join(', ')}), which does not show its sender`];
  const reported = message === null || message.sentence === '' ? [] : [`the termination message of the supervisor: ${message.sentence}`];
  return [...reported, ...noticed, ...(pod === null ? [] : knownOfPod(pod, ended === null)), ...(ended === null ? [] : knownOfEnd(ended))];
}

function knownOfPod({ conditions, object, phase, reason }: Pod, isEndUnknown: boolean): readonly string[] {
  const condition = trueCondition(conditions, 'DisruptionTarget');
  return [
    ...(condition === null
      ? []
      : [`the pod has the condition DisruptionTarget/${condition.reason ?? ''}, which alone does not show the cause`]),
    ...(isEndUnknown ? [`the phase is ${phase ?? 'not there'}, and no container status shows how it ended`] : []),
    ...(object.deletionMs === null ? [] : ['the pod was deleted through the API']),
    ...(reason === null ? [] : [`the pod has the reason ${reason}, without a message that gives the resource`]),
  ];
}

function knownOfEnd({ exitCode, reason }: Terminated): readonly string[] {
  return [
    `the container ended with ${exitCode}${reason === null ? '' : ` (${reason})`}`,
    ...(exitCode === 0 ? ['a trainer that gets SIGTERM may exit with 0 as well'] : []),
    ...(exitCode === 137 && reason !== 'OOMKilled' ? ['137 is a SIGKILL from an unknown sender, so Holdfast does not call it OOM'] : []),
  ];
}

function missingAbout({ pod, events, lane, node, marksDisruptions }: WhyFacts): readonly string[] {
  return [
    ...(pod === null ? ['its pod: ask for pod/NAME with --run=RUN, or give a dump with -f'] : missingMark(pod, marksDisruptions)),
    ...(pod !== null && events.length === 0 ? ['events about it (Kubernetes keeps them for an hour by default)'] : []),
    ...(pod !== null && node === null && pod.spec.nodeName !== null ? [`its node ${pod.spec.nodeName}`] : []),
    ...(lane === null ? ['the ledger of the run (--run=FOLDER), if it ran under holdfast run'] : []),
  ];
}

function missingMark({ conditions, object }: Pod, marksDisruptions: boolean): readonly string[] {
  if (trueCondition(conditions, 'DisruptionTarget') !== null) return [];
  const isProvable = marksDisruptions || object.deletionMs === null;
  const server = 'the answer of its API server: since 1.26 it marks each evicted pod, but a file may have lost the mark';
  return ['a condition DisruptionTarget on the pod', ...(isProvable ? [] : [server])];
}

function candidatesOf(facts: WhyFacts): readonly EndCause[] {
  const { pod, ended } = facts;
  if (pod === null) return [];
  if (pod.object.deletionMs !== null) {
    const shown = lookAlikesOfDeletion(facts).map(({ cause }) => cause);
    return [...new Set<EndCause>([...shown, 'POD_DELETED', 'API_EVICTION', 'SCHEDULER_PREEMPTION', 'NODE_TAINT'])];
  }
  if (pod.reason === 'Evicted') return ['MEMORY_PRESSURE', 'DISK_PRESSURE', 'PID_PRESSURE', 'EMPTY_DIR_LIMIT', 'EPHEMERAL_STORAGE_LIMIT'];
  if (ended?.exitCode === 0 && !wasToldToEnd(facts)) {
    const shown = [...storageLimits(facts), ...nodeTrouble(facts)].map(({ cause }) => cause);
    return [...new Set<EndCause>(['FINISHED', ...shown, 'MACHINE_SHUTDOWN', 'CRITICAL_POD', 'NODE_PRESSURE'])];
  }
  if (ended?.exitCode === 137) return ['OUT_OF_MEMORY', 'NODE_PRESSURE', 'MACHINE_SHUTDOWN', 'POD_DELETED'];
  return wasToldToEnd(facts) ? ['MACHINE_SHUTDOWN', 'NODE_PRESSURE', 'EMPTY_DIR_LIMIT', 'POD_DELETED'] : [];
}
