import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureProcess } from './support/process.ts';
import type { Suite } from './support/suite.ts';

const HOLDFAST = join(import.meta.dirname, '..', 'bin', 'holdfast');
const PODS = 1000;
const EVENTS = 10_000;
const PODS_PER_NODE = 10;
const START_MS = Date.UTC(2026, 10, 18);
const REASONS = ['EvictionByEvictionAPI', 'PreemptionByScheduler', 'DeletionByTaintManager', 'TerminationByKubelet', null] as const;

/** A dump of a thousand pods that have ended, and ten thousand events about them. */
export async function why(): Promise<Suite> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const dump = join(folder, 'dump.json');
  writeFileSync(dump, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: items() }, null, 4));
  return {
    name: 'why, a dump of 1,000 pods and 10,000 events',
    description:
      'Every pod has ended, for one of five causes in turn, on 100 nodes; all of them are judged, and the newest is told. As a process, start-up included. The reference reads and parses the same file with `node`.',
    rounds: 7,
    reference: 'parse the dump',
    bytes: 0,
    variants: [
      {
        name: 'parse the dump',
        run: () => measureProcess([process.execPath, '-e', 'JSON.parse(fs.readFileSync(process.argv[1], "utf8"))', dump]),
      },
      // Some of its pods were deleted by an unknown user, which is no reason to fail.
      { name: 'holdfast why', run: () => measureProcess([HOLDFAST, 'why', '-f', dump], [0, 1]) },
    ],
    bounds: [{ text: 'at most 1 s', isMet: (results) => (results.get('holdfast why')?.seconds.median ?? 9) <= 1 }],
    dispose: () => rmSync(folder, { recursive: true }),
  };
}

function items(): readonly unknown[] {
  const pods = Array.from({ length: PODS }, (_, index) => pod(index));
  const jobs = Array.from({ length: PODS }, (_, index) => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: `train-${index}`, namespace: 'ml', uid: `job-${index}` },
    spec: { backoffLimit: 6 },
    status: { active: 0, failed: 1 },
  }));
  const nodes = Array.from({ length: PODS / PODS_PER_NODE }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `node-${index}` },
    spec: {},
    status: { conditions: [] },
  }));
  return [...pods, ...jobs, ...nodes, ...Array.from({ length: EVENTS }, (_, index) => event(index))];
}

function at(seconds: number): string {
  return new Date(START_MS + seconds * 1000).toISOString();
}

function pod(index: number): unknown {
  const reason = REASONS[index % REASONS.length] ?? null;
  const endSeconds = 3600 + index;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `train-${index}-abcde`,
      namespace: 'ml',
      uid: `pod-${index}`,
      creationTimestamp: at(index),
      labels: { 'batch.kubernetes.io/job-name': `train-${index}` },
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: `train-${index}`, uid: `job-${index}`, controller: true }],
      ...(reason === 'TerminationByKubelet' ? {} : { deletionTimestamp: at(endSeconds), deletionGracePeriodSeconds: 30 }),
    },
    spec: {
      nodeName: `node-${Math.floor(index / PODS_PER_NODE)}`,
      terminationGracePeriodSeconds: 30,
      containers: [
        {
          name: 'trainer',
          image: 'registry.example/train:1',
          command: ['python', 'train.py'],
          resources: { limits: { 'nvidia.com/gpu': '8', memory: '64Gi' } },
        },
      ],
    },
    status: {
      phase: 'Failed',
      startTime: at(index),
      conditions: [
        { type: 'PodScheduled', status: 'True', lastTransitionTime: at(index) },
        { type: 'Ready', status: 'False', lastTransitionTime: at(endSeconds) },
        ...(reason === null
          ? []
          : [
              {
                type: 'DisruptionTarget',
                status: 'True',
                reason,
                message: 'The node was low on resource: memory.',
                lastTransitionTime: at(endSeconds - 30),
              },
            ]),
      ],
      containerStatuses: [
        {
          name: 'trainer',
          restartCount: 0,
          state: { terminated: { exitCode: 137, reason: 'Error', startedAt: at(index + 5), finishedAt: at(endSeconds) } },
        },
      ],
    },
  };
}

function event(index: number): unknown {
  const pods = index % PODS;
  const reasons = [
    'Scheduled',
    'Pulled',
    'Created',
    'Started',
    'Unhealthy',
    'Killing',
    'BackOff',
    'FailedMount',
    'NodeNotReady',
    'Evicted',
  ];
  const time = at(pods + Math.floor(index / PODS));
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `event-${index}`, namespace: 'ml', creationTimestamp: time },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', name: `train-${pods}-abcde`, namespace: 'ml', uid: `pod-${pods}` },
    reason: reasons[Math.floor(index / PODS)],
    message: 'Something that a kubelet or a controller has said about this pod, as long as such a message usually is',
    source: { component: 'kubelet' },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    type: 'Normal',
  };
}
