import type { WorkloadRule } from '../../engine/rule.ts';
import { insertBefore, replaceScalar } from '../../manifest/edit.ts';
import { mayTrain, writableClaims } from '../../manifest/facts.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { entryOf, get, spanAt, text, textAt, type YamlNode } from '../../manifest/yaml-node.ts';
import type { Workload } from '../../manifest/workload.ts';

const CRON = (spec: string): string => `
apiVersion: batch/v1
kind: CronJob
spec:
  schedule: "0 2 * * 0"
${spec}  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: trainer
              command: [python, retrain.py, --output-dir=/runs]
              volumeMounts: [{ name: runs, mountPath: /runs }]
          volumes: [{ name: runs, persistentVolumeClaim: { claimName: runs } }]
`;

function insert(workload: Workload, cron: YamlNode, entry: string) {
  const before = entryOf(cron, 'jobTemplate')?.key;
  return before === undefined ? [] : insertBefore(cron, before, { block: [[0, entry]], flow: entry }, workload.object.source);
}

/** What happens to a training that is still running when the next one is due. */
export const cronConcurrency: WorkloadRule = {
  code: 'CRON_OVERLAPS',
  readsFragments: true,
  severity: 'error',
  on: 'workload',
  title: 'The next scheduled run ends the one that still trains, or writes beside it',
  why: '`Replace` deletes the running Job, which is an interruption of your own making. `Allow`, the default, starts a second training beside the first: both write one folder, and both want the accelerators. Either way a run that is longer than its interval loses work.',
  fix: 'Set concurrencyPolicy: Forbid.',
  bad: { manifest: CRON('  concurrencyPolicy: Replace\n') },
  good: { manifest: CRON('  concurrencyPolicy: Forbid\n') },
  check(workload) {
    const { cron } = workload;
    if (cron === null || !mayTrain(workload)) return [];
    const node = get(cron, 'concurrencyPolicy');
    const policy = text(node) ?? 'Allow';
    if (policy === 'Forbid' || (policy === 'Allow' && writableClaims(workload).length === 0)) return [];
    const what =
      policy === 'Replace'
        ? 'is deleted in the middle when the next one is due'
        : 'gets a second one beside it over the same folder when the next one is due';
    const message = `${nameOf(workload)} has concurrencyPolicy ${node === null ? 'Allow, the default' : policy}: a training that still runs ${what}.`;
    const edits = node === null ? insert(workload, cron, 'concurrencyPolicy: Forbid') : [replaceScalar(node, 'Forbid')];
    return [{ at: spanAt(cron, node === null ? 'schedule' : 'concurrencyPolicy'), message, edits }];
  },
};

/** Without a time zone the schedule is that of the controller manager. */
export const cronNoTimeZone: WorkloadRule = {
  code: 'CRON_NO_TIME_ZONE',
  readsFragments: true,
  severity: 'info',
  on: 'workload',
  title: 'The schedule has no time zone',
  why: 'Without `timeZone` a schedule is read in the local zone of the controller manager, which is not UTC everywhere, and changes with a cluster.',
  fix: 'Set timeZone, such as Etc/UTC.',
  bad: { manifest: CRON('') },
  good: { manifest: CRON('  timeZone: Etc/UTC\n') },
  check(workload) {
    const { cron } = workload;
    if (cron === null || get(cron, 'timeZone') !== null || !mayTrain(workload)) return [];
    if (/(?:CRON_)?TZ=/.test(textAt(cron, 'schedule') ?? '')) return [];
    const message = `${nameOf(workload)} runs in the zone of the controller manager: "${textAt(cron, 'schedule')}" is not always UTC.`;
    return [{ at: spanAt(cron, 'schedule'), message, edits: insert(workload, cron, 'timeZone: Etc/UTC') }];
  },
};

/** Without a starting deadline a missed start happens at any time. */
export const cronNoDeadline: WorkloadRule = {
  code: 'CRON_NO_STARTING_DEADLINE',
  readsFragments: true,
  severity: 'info',
  on: 'workload',
  title: 'A missed start happens later, at any time',
  why: 'With concurrencyPolicy: Forbid a start is missed while the last run still trains. Kubernetes makes up for it as soon as that run ends, unless startingDeadlineSeconds forbids it. The same happens after an outage of the control plane.',
  fix: 'Set startingDeadlineSeconds, such as 3600.',
  bad: { manifest: CRON('  concurrencyPolicy: Forbid\n') },
  good: { manifest: CRON('  startingDeadlineSeconds: 3600\n') },
  check(workload) {
    const { cron } = workload;
    if (cron === null || get(cron, 'startingDeadlineSeconds') !== null || !mayTrain(workload)) return [];
    const message = `${nameOf(workload)} makes up for a missed start as soon as the running Job ends, however late that is.`;
    return [{ at: spanAt(cron, 'schedule'), message, edits: insert(workload, cron, 'startingDeadlineSeconds: 3600') }];
  },
};

/** A zone within the schedule is refused. */
export const cronZoneInSchedule: WorkloadRule = {
  code: 'CRON_ZONE_IN_SCHEDULE',
  readsFragments: true,
  severity: 'error',
  on: 'workload',
  title: 'The schedule has a time zone in it',
  why: 'The API server refuses `TZ=` and `CRON_TZ=` in a schedule.',
  fix: 'Move the zone into timeZone.',
  bad: { manifest: CRON('').replace('"0 2', '"TZ=UTC 0 2') },
  good: { manifest: CRON('  timeZone: Etc/UTC\n') },
  check(workload) {
    const { cron } = workload;
    if (cron === null || !/(?:CRON_)?TZ=/.test(textAt(cron, 'schedule') ?? '')) return [];
    return [{ at: spanAt(cron, 'schedule'), message: `${nameOf(workload)}: the API server refuses a time zone in the schedule.` }];
  },
};
