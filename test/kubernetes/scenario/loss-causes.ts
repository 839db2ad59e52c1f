import { whenReady } from '../cluster/node.ts';
import { eventually } from '../cluster/wait.ts';
import { type Cause, type HoldingRun, disruptedBy, keepOff, nodeNamed, oncePlaced } from './cause.ts';
import { JOBS, NODES, PODS, setTaints, taintsOf, whenNextPodIsPlaced } from './objects.ts';

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
/** How long a pod stays bound to a node that does not report; the default is 300 s. */
const SOON_GIVEN_UP = {
  tolerations: [{ key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1 }],
};

/** The kubelet stops, its containers continue, and it returns after its pods have been given up. */
export const GIVEN_UP: Cause = {
  name: 'given-up',
  title: 'the kubelet is away until its pods are given up, and comes back',
  exitWithZero: 'complete',
  exitCodes: [143, 137, null],
  marks: disruptedBy('DeletionByTaintManager'),
  grace: 'unsure',
  forms: ['binary'],
  podSpec: SOON_GIVEN_UP,
  async interrupt(run) {
    await keepOff(run);
    await nodeNamed(run.cluster, run.node).stopKubelet();
    await whenGivenUp(run);
    await whenWaitedFor(run);
    await bringBack(run);
  },
  relieve: oncePlaced,
};

/** Causes in which a node stops reporting or is removed. */
export const LOSS_CAUSES: readonly Cause[] = [
  {
    name: 'lost',
    title: 'the node loses its power, and is declared out of service',
    exitWithZero: 'started again',
    exitCodes: [null],
    marks: disruptedBy('DeletionByTaintManager'),
    grace: 'none',
    forms: ['binary'],
    podSpec: SOON_GIVEN_UP,
    async interrupt(run) {
      const { cluster, node } = run;
      await nodeNamed(cluster, node).loseEverything();
      await whenGivenUp(run);
      await whenWaitedFor(run);
      const taints = await taintsOf(cluster, node);
      await setTaints(cluster, node, [...taints, { key: OUT_OF_SERVICE, effect: 'NoExecute' }]);
    },
    async relieve(run) {
      await whenNextPodIsPlaced(run.cluster, run.job, run.node);
      await bringBack(run);
      const taints = await taintsOf(run.cluster, run.node);
      await setTaints(
        run.cluster,
        run.node,
        taints.filter(({ key }) => key !== OUT_OF_SERVICE),
      );
    },
  },
  {
    name: 'node-deleted',
    title: 'the node’s object is deleted, while its kubelet runs on',
    exitWithZero: 'started again',
    exitCodes: [143, 137],
    marks: disruptedBy('DeletionByPodGC'),
    grace: 'short',
    forms: ['tree'],
    interrupt: ({ cluster, node }) => cluster.api.remove(`${NODES}/${node}`),
    async relieve(run) {
      await whenNextPodIsPlaced(run.cluster, run.job, run.node);
      await nodeNamed(run.cluster, run.node).stopKubelet();
      await bringBack(run);
    },
  },
];

async function whenGivenUp({ cluster, pod }: HoldingRun): Promise<void> {
  await eventually(`${pod} to be given up`, async () => (await cluster.api.get(`${PODS}/${pod}`))?.metadata.deletionTimestamp ?? null);
}

/**
 * The Job waits for the unknown end of the pod, until the node returns or a person marks it as out
 * of service.
 */
async function whenWaitedFor({ cluster, job }: HoldingRun): Promise<void> {
  await eventually(`the Job ${job} to wait for its lost pod`, async () => {
    const status = (await cluster.api.get(`${JOBS}/${job}`))?.status;
    return status?.terminating === 1 && (status.active ?? 0) === 0 ? true : null;
  });
}

async function bringBack({ cluster, node }: HoldingRun): Promise<void> {
  const kubelet = nodeNamed(cluster, node);
  kubelet.startKubelet();
  await whenReady(cluster.api, kubelet);
}
