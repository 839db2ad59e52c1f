import { formatDuration, millis } from '../../../core/duration.ts';
import { NODE_KINDS } from '../../../domain/grace/effective-grace.ts';
import type { WorkloadRule } from '../../engine/rule.ts';
import { insertBefore, replaceScalar } from '../../manifest/edit.ts';
import { graceSeconds, isSupervised, supervisedGrace, trains } from '../../manifest/facts.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import type { Workload } from '../../manifest/workload.ts';
import { entryOf, get, number, numberAt, spanAt, text, items } from '../../manifest/yaml-node.ts';

const JOB = (pod: string, command = '[python, train.py]', more = ''): string => `
apiVersion: batch/v1
kind: Job
spec:
  template:
    spec:
      restartPolicy: Never
${pod}      containers:
        - name: trainer
          command: ${command}
${more}`;

/** --grace must be the grace of the pod. */
export const graceMismatch: WorkloadRule = {
  code: 'GRACE_MISMATCH',
  severity: 'error',
  on: 'workload',
  title: '--grace is not what the pod has',
  why: 'A pod cannot see its own terminationGracePeriodSeconds, so `holdfast run` uses --grace. If the pod has less, the last save is cut in the middle. If it has more, `holdfast run` refuses a save that would have fitted.',
  fix: 'Make terminationGracePeriodSeconds and --grace the same.',
  bad: { manifest: JOB('      terminationGracePeriodSeconds: 30\n', '[holdfast, run, --grace=120s, --, python, train.py]') },
  good: { manifest: JOB('      terminationGracePeriodSeconds: 120\n', '[holdfast, run, --grace=120s, --, python, train.py]') },
  check(workload) {
    const { pod, object } = workload;
    const told = supervisedGrace(workload);
    if (told === null) return [];
    const seconds = graceSeconds(pod);
    if (seconds * 1000 === told.ms) return [];
    const node = get(pod, 'terminationGracePeriodSeconds');
    const message = `${nameOf(workload)}: --grace is ${formatDuration(told.ms)}, but the pod has ${seconds} s${node === null ? ', the default' : ''}.`;
    const wanted = String(Math.ceil(told.ms / 1000));
    const before = entryOf(pod, 'containers')?.key;
    const entry = `terminationGracePeriodSeconds: ${wanted}`;
    const inserted = before === undefined ? [] : insertBefore(pod, before, { block: [[0, entry]], flow: entry }, object.source);
    return [{ at: told.word, message, edits: node === null ? inserted : [replaceScalar(node, wanted)] }];
  },
};

/** The default of 30 s fits few saves. */
export const graceTooShort: WorkloadRule = {
  code: 'GRACE_TOO_SHORT',
  severity: 'warning',
  on: 'workload',
  title: 'The grace is shorter than a save',
  why: '`terminationGracePeriodSeconds` is the whole time that a save has when the pod is deleted, drained or preempted. The default is 30 s, and the preStop hook is part of it. Then the container is killed, and the file that it writes stays cut. With `--save=TIME` lint compares the grace with the time of a save. Otherwise it reports a pod with less than 30 s, or without the field.',
  fix: 'Set terminationGracePeriodSeconds to the time of a slow save (the slowest of twenty) and some seconds.',
  bad: { manifest: JOB('') },
  good: { manifest: JOB('      terminationGracePeriodSeconds: 120\n') },
  check(workload, { saveMs }) {
    const { pod } = workload;
    if (!trains(workload) || supervisedGrace(workload) !== null) return [];
    const written = number(get(pod, 'terminationGracePeriodSeconds'));
    const seconds = graceSeconds(pod);
    const at = spanAt(pod, 'terminationGracePeriodSeconds');
    const has = `${nameOf(workload)} has ${seconds} s of grace${written === null ? ', the default' : ''}`;
    if (saveMs !== null)
      return seconds * 1000 >= saveMs ? [] : [{ at, message: `${has}: a save takes ${formatDuration(millis(saveMs))}.` }];
    if (written !== null && written >= enough(workload)) return [];
    return [{ at, message: `${has}. A save of a large model takes longer, and is cut.` }];
  },
};

const CLOUDS = { gke: 'gke-spot', aws: 'ec2-spot', azure: 'azure-spot' } as const;

/** A pod cannot use more than its node leaves when it is reclaimed. */
function enough({ spot }: Workload): number {
  return spot === null || spot.cloud === 'other' ? 30 : Math.min(30, NODE_KINDS[CLOUDS[spot.cloud]].graceMs / 1000);
}

/** A reclaimed node limits the grace. */
export const graceBeyondNode: WorkloadRule = {
  code: 'GRACE_BEYOND_NODE',
  readsFragments: true,
  severity: 'info',
  on: 'workload',
  title: 'A reclaimed Spot node does not give this much grace',
  why: 'When the cloud takes a Spot node back, its notice limits every grace: GKE leaves pods 15 s of its 30, AWS two minutes less the time to drain, Azure about 25 s. A longer terminationGracePeriodSeconds helps only with drains and preemption. So a save must fit the node’s time, or saves must be frequent.',
  fix: 'Save often enough that a reclaim is cheap, and put `holdfast run --` before the trainer: it reads the notice of the cloud and does not start a save that it cannot finish.',
  bad: { manifest: JOB('      terminationGracePeriodSeconds: 300\n      nodeSelector: { cloud.google.com/gke-spot: "true" }\n') },
  good: { manifest: JOB('      terminationGracePeriodSeconds: 15\n      nodeSelector: { cloud.google.com/gke-spot: "true" }\n') },
  check(workload) {
    const { spot, pod } = workload;
    if (spot === null || spot.cloud === 'other' || !trains(workload) || isSupervised(workload)) return [];
    const { graceMs, reason } = NODE_KINDS[CLOUDS[spot.cloud]];
    const written = numberAt(pod, 'terminationGracePeriodSeconds');
    if (written === null || written * 1000 <= graceMs) return [];
    return [{ at: spanAt(pod, 'terminationGracePeriodSeconds'), message: `${nameOf(workload)} asks for ${written} s, but ${reason}.` }];
  },
};

/** The preStop hook runs inside the grace. */
export const preStopEatsGrace: WorkloadRule = {
  code: 'PRESTOP_EATS_GRACE',
  readsFragments: true,
  severity: 'error',
  on: 'workload',
  title: 'The preStop hook uses up the grace',
  why: 'The clock of the grace starts before the preStop hook. SIGTERM comes when the hook has ended, with the time that is left, but at least two seconds.',
  fix: 'Remove the hook, or raise terminationGracePeriodSeconds by its duration.',
  bad: {
    manifest: JOB(
      '      terminationGracePeriodSeconds: 30\n',
      '[python, train.py]',
      '          lifecycle: { preStop: { exec: { command: [sh, -c, "sleep 25"] } } }\n',
    ),
  },
  good: {
    manifest: JOB(
      '      terminationGracePeriodSeconds: 120\n',
      '[python, train.py]',
      '          lifecycle: { preStop: { exec: { command: [sh, -c, "sleep 5"] } } }\n',
    ),
  },
  check(workload) {
    if (!trains(workload)) return [];
    const { node } = workload.trainer;
    const hook = get(node, 'lifecycle', 'preStop');
    const words = items(get(hook, 'exec', 'command')).map((word) => text(word) ?? '');
    const slept = Number(/(?:^|[\s;&])sleep\s+(\d+)/.exec(words.join(' '))?.[1] ?? Number.NaN);
    const seconds = numberAt(hook, 'sleep', 'seconds') ?? slept;
    const grace = graceSeconds(workload.pod);
    if (!(seconds >= grace / 2)) return [];
    return [
      {
        at: spanAt(node, 'lifecycle', 'preStop'),
        message: `${nameOf(workload)}: the preStop hook takes ${seconds} s of the ${grace} s of grace, so that ${Math.max(2, grace - seconds)} s are left for a save.`,
      },
    ];
  },
};
