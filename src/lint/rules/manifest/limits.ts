import type { WorkloadRule } from '../../engine/rule.ts';
import { insertBefore } from '../../manifest/edit.ts';
import { trains } from '../../manifest/facts.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { entryOf, get, headOf, number, spanAt, textAt } from '../../manifest/yaml-node.ts';

const JOB = (resources: string): string => `
apiVersion: batch/v1
kind: Job
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: trainer
          command: [python, train.py]
          resources: ${resources}
`;

/** Without a memory limit the node decides who is killed. */
export const noMemoryLimit: WorkloadRule = {
  code: 'NO_MEMORY_LIMIT',
  severity: 'warning',
  on: 'workload',
  title: 'The trainer has no memory limit',
  why: 'Without a limit the trainer can use up the memory of its node. Then the kubelet evicts pods, first the ones above their request, and leaves each two seconds. Or the kernel kills a process of its choice. A trainer whose limit equals its request is evicted last.',
  fix: 'Set resources.limits.memory, equal to the request.',
  bad: { manifest: JOB('{ requests: { memory: 64Gi } }') },
  good: { manifest: JOB('{ requests: { memory: 64Gi }, limits: { memory: 64Gi } }') },
  check(workload) {
    if (!trains(workload)) return [];
    const { node } = workload.trainer;
    if (get(node, 'resources', 'limits', 'memory') !== null) return [];
    const limits = get(node, 'resources', 'limits');
    const request = textAt(node, 'resources', 'requests', 'memory');
    const first = limits?.kind === 'map' ? [...limits.entries.values()][0]?.key : undefined;
    const entry = `memory: ${request}`;
    const edits =
      request === null || limits === null || first === undefined
        ? []
        : insertBefore(limits, first, { block: [[0, entry]], flow: entry }, workload.object.source);
    return [
      {
        at: spanAt(node, 'resources', 'limits'),
        message: `${nameOf(workload)}: ${workload.trainer.name || 'the container'} may use up the memory of its node, which evicts pods with two seconds of grace.`,
        edits,
      },
    ];
  },
};

/** Without a limit for the disk of the node the trainer can have itself evicted with others. */
export const noStorageLimit: WorkloadRule = {
  code: 'NO_EPHEMERAL_STORAGE_LIMIT',
  severity: 'warning',
  on: 'workload',
  title: 'The trainer has no limit for the disk of its node',
  why: 'Logs, /tmp, caches and the container’s own files are on the disk of the node. When it is nearly full, the kubelet evicts pods, first the ones above their request for ephemeral-storage. Each has two seconds, and a longer terminationGracePeriodSeconds does not help. A pod without a request is above it from the first byte.',
  fix: 'Set a request and a limit for ephemeral-storage.',
  bad: { manifest: JOB('{ limits: { memory: 64Gi } }') },
  good: { manifest: JOB('{ limits: { memory: 64Gi, ephemeral-storage: 20Gi } }') },
  check(workload) {
    if (!trains(workload)) return [];
    const { node } = workload.trainer;
    if (get(node, 'resources', 'limits', 'ephemeral-storage') !== null || get(node, 'resources', 'requests', 'ephemeral-storage') !== null)
      return [];
    return [
      {
        at: spanAt(node, 'resources'),
        message: `${nameOf(workload)}: ${workload.trainer.name || 'the container'} reserves no space on the node's disk. When the disk is full, it is evicted first, with two seconds of grace.`,
      },
    ];
  },
};

/** Probes do not wait for a save. */
export const livenessKillsSave: WorkloadRule = {
  code: 'LIVENESS_KILLS_SAVE',
  readsFragments: true,
  severity: 'error',
  on: 'workload',
  title: 'A liveness probe can kill the trainer in the middle of a save',
  why: 'A trainer that compiles, loads, saves or waits in a collective answers no probe. After periodSeconds × failureThreshold, 30 s by default, the kubelet kills the container. The Job counts that as an error.',
  fix: 'Leave the probe out: `holdfast run` finds a trainer that hangs by its progress. Otherwise give it many minutes.',
  bad: {
    manifest: JOB('{ limits: { memory: 1Gi } }\n          livenessProbe: { exec: { command: [cat, /tmp/alive] }, periodSeconds: 10 }'),
  },
  good: {
    manifest: JOB(
      '{ limits: { memory: 1Gi } }\n          livenessProbe: { exec: { command: [cat, /tmp/alive] }, periodSeconds: 60, failureThreshold: 30 }',
    ),
  },
  check(workload) {
    if (!trains(workload)) return [];
    const { node } = workload.trainer;
    const probe = get(node, 'livenessProbe');
    if (probe === null) return [];
    const seconds = (number(get(probe, 'periodSeconds')) ?? 10) * (number(get(probe, 'failureThreshold')) ?? 3);
    if (seconds >= 600) return [];
    return [
      {
        at: entryOf(node, 'livenessProbe')?.key ?? headOf(node),
        message: `${nameOf(workload)}: the container is killed when it does not answer for ${seconds} s, as during a save.`,
      },
    ];
  },
};
