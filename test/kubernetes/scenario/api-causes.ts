import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import { type Cause, type HoldingRun, NO_MARKS, disruptedBy, keepOff, oncePlaced } from './cause.ts';
import { greedyPod } from './greedy-pod.ts';
import { JOBS, PODS, setTaints, whenNextPodIsPlaced } from './objects.ts';

const CLASSES = '/apis/scheduling.k8s.io/v1/priorityclasses';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const MAINTENANCE = 'holdfast.test/maintenance';

/**
 * Causes that act through the API: a person or a controller deletes the pod, and its kubelet acts
 * on the deletion.
 */
export const API_CAUSES: readonly Cause[] = [
  {
    name: 'delete',
    title: 'the pod is deleted, with its grace',
    exitWithZero: 'complete',
    exitCodes: [143],
    marks: NO_MARKS,
    grace: 'pod',
    forms: ['tree'],
    async interrupt(run) {
      await keepOff(run);
      await run.cluster.api.remove(`${PODS}/${run.pod}`);
    },
    relieve: oncePlaced,
  },
  {
    name: 'delete-short',
    title: 'the pod is deleted, with a grace of 3 s',
    exitWithZero: 'complete',
    exitCodes: [143, 137],
    marks: NO_MARKS,
    grace: 'short',
    forms: ['binary'],
    otherControls: ['untrapped'],
    async interrupt(run) {
      await keepOff(run);
      await run.cluster.api.remove(`${PODS}/${run.pod}?gracePeriodSeconds=3`);
    },
    relieve: oncePlaced,
  },
  {
    name: 'force-delete',
    title: 'the pod is deleted by force, without grace',
    exitWithZero: 'complete',
    exitCodes: [143, 137],
    marks: NO_MARKS,
    grace: 'short',
    forms: ['binary'],
    async interrupt(run) {
      await keepOff(run);
      await run.cluster.api.remove(`${PODS}/${run.pod}?gracePeriodSeconds=0`);
    },
    relieve: oncePlaced,
  },
  {
    name: 'drain',
    title: 'the node is drained (eviction API)',
    exitWithZero: 'complete',
    exitCodes: [143],
    marks: disruptedBy('EvictionByEvictionAPI'),
    grace: 'pod',
    forms: ['binary'],
    otherControls: ['untrapped'],
    async interrupt(run) {
      await keepOff(run);
      await evict(run);
    },
    relieve: oncePlaced,
  },
  {
    name: 'drain-budget',
    title: 'the node is drained, against a PodDisruptionBudget that gives way later',
    exitWithZero: 'complete',
    exitCodes: [143],
    marks: disruptedBy('EvictionByEvictionAPI'),
    grace: 'pod',
    forms: ['tree'],
    async interrupt(run) {
      await keepOff(run);
      await withBudget(run, () => refusedEviction(run));
      await evict(run);
    },
    relieve: oncePlaced,
  },
  {
    name: 'taint',
    title: 'the node gets a taint with NoExecute',
    exitWithZero: 'complete',
    exitCodes: [143],
    marks: disruptedBy('DeletionByTaintManager'),
    grace: 'pod',
    forms: ['tree'],
    interrupt: ({ cluster, node }) => setTaints(cluster, node, [{ key: MAINTENANCE, effect: 'NoExecute' }]),
    async relieve({ cluster, node, job }) {
      await whenNextPodIsPlaced(cluster, job, node);
      await setTaints(cluster, node, []);
    },
  },
  {
    name: 'suspend',
    title: 'the Job is suspended, and resumed later',
    exitWithZero: 'started again',
    exitCodes: [143],
    marks: { ...NO_MARKS, failuresWhenKilled: 0 },
    grace: 'pod',
    forms: ['binary'],
    async interrupt(run) {
      await keepOff(run);
      await run.cluster.api.patch(`${JOBS}/${run.job}`, { spec: { suspend: true } });
    },
    async relieve(run) {
      await run.cluster.api.patch(`${JOBS}/${run.job}`, { spec: { suspend: false } });
      await oncePlaced(run);
    },
  },
  {
    name: 'preemption',
    title: 'a pod of higher priority takes its place (scheduler)',
    exitWithZero: 'complete',
    exitCodes: [143],
    marks: disruptedBy('PreemptionByScheduler'),
    grace: 'pod',
    forms: ['binary'],
    async interrupt({ cluster, node }) {
      await ensurePriorityClass(cluster);
      const pod = greedyPod(node, { priorityClassName: 'urgent', nodeSelector: { 'kubernetes.io/hostname': node } });
      // The API server accepts a new priority class only after a moment.
      const create = (): Promise<unknown> =>
        cluster.api.create(PODS, pod).catch((thrown: unknown) => {
          if (String(thrown).includes('no PriorityClass with name')) return null;
          throw thrown;
        });
      await eventually('the pod of higher priority', create);
    },
    async relieve({ cluster, node, job }) {
      await whenNextPodIsPlaced(cluster, job, node);
      await cluster.api.remove(`${PODS}/greedy-${node}?gracePeriodSeconds=0`);
    },
  },
  {
    name: 'ttl',
    title: 'the pod is deleted, and the Job goes when it is over (TTL 0)',
    exitWithZero: 'complete',
    exitCodes: [143],
    marks: NO_MARKS,
    grace: 'pod',
    forms: ['tree'],
    jobSpec: { ttlSecondsAfterFinished: 0 },
    async interrupt(run) {
      await keepOff(run);
      await run.cluster.api.remove(`${PODS}/${run.pod}`);
    },
    relieve: oncePlaced,
  },
];

async function evict({ cluster, pod }: HoldingRun): Promise<void> {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace: 'default' } };
  await cluster.api.create(`${PODS}/${pod}/eviction`, eviction);
}

/** Runs the work while a PodDisruptionBudget requires the Job's only pod. */
async function withBudget({ cluster, job }: HoldingRun, meanwhile: () => Promise<void>): Promise<void> {
  const selector = { matchLabels: { 'batch.kubernetes.io/job-name': job } };
  const spec = { minAvailable: 1, selector };
  await cluster.api.create(BUDGETS, { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: job }, spec });
  try {
    await eventually(`the budget of ${job} to be counted`, async () => {
      const status = (await cluster.api.get(`${BUDGETS}/${job}`))?.status;
      return status?.observedGeneration !== undefined && status.currentHealthy === 1 ? true : null;
    });
    await meanwhile();
  } finally {
    await cluster.api.remove(`${BUDGETS}/${job}`);
  }
}

/** Expects that the eviction is refused for now and the pod keeps running, as during a drain. */
async function refusedEviction(run: HoldingRun): Promise<void> {
  const answer = await evict(run).then(
    () => 'granted',
    (thrown: unknown) => String(thrown),
  );
  const pod = await run.cluster.api.get(`${PODS}/${run.pod}`);
  const isLeftAlone = pod?.metadata.deletionTimestamp === undefined && pod?.status?.phase === 'Running';
  if (!answer.includes('was answered with 429') || !isLeftAlone) throw new Error(`an eviction against the budget of ${run.job}: ${answer}`);
}

async function ensurePriorityClass(cluster: Cluster): Promise<void> {
  if ((await cluster.api.get(`${CLASSES}/urgent`)) !== null) return;
  const metadata = { name: 'urgent' };
  // Another run may create it at the same moment.
  await cluster.api
    .create(CLASSES, { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata, value: 1000 })
    .catch(async (thrown: unknown) => {
      if ((await cluster.api.get(`${CLASSES}/urgent`)) === null) throw thrown;
    });
}
