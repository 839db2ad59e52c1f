import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject } from './cluster/api.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNoCluster } from './cluster/facility.ts';
import { BASE_IMAGE } from './cluster/runtime.ts';
import { eventually } from './cluster/wait.ts';
import { startForSmallClusters } from './foretold/play.ts';
import { RESERVED, reserveBothWays } from './foretold/reserve.ts';
import { GANG_JOBS } from './scenario/gang-causes.ts';
import { greedyPod } from './scenario/greedy-pod.ts';
import { cordon, PODS, trueConditions } from './scenario/objects.ts';
import { OPERATOR_IMAGE, type OperatorProcess, startOperator } from './scenario/operator-process.ts';
import { tellingState } from './scenario/state.ts';
import { ONE_POD } from './scenario/training-job.ts';

/** Only 1.37 has gangs of its own. It takes minutes to build, so that CI does not. */
const reason = whyNoCluster('1.37');
const GROUPS = '/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups';
const CLASSES = '/apis/scheduling.k8s.io/v1/priorityclasses';

/** A gang of a master and one worker, which train until they are told to end. */
function gang(name: string, annotations: Readonly<Record<string, string>> = {}): Readonly<Record<string, unknown>> {
  const command = ['/busybox/sh', '-c', 'trap "exit 143" TERM; while :; do /busybox/sleep 1; done'];
  const container = { name: 'pytorch', image: BASE_IMAGE, imagePullPolicy: 'Never', command };
  const role = { replicas: 1, template: { spec: { terminationGracePeriodSeconds: 5, containers: [container] } } };
  return {
    apiVersion: 'kubeflow.org/v1',
    kind: 'PyTorchJob',
    metadata: { name, annotations },
    spec: { pytorchReplicaSpecs: { Master: role, Worker: role } },
  };
}

describe.skipIf(reason !== null)(`the gangs of Kubernetes 1.37${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;
  let operator: OperatorProcess;
  beforeAll(async () => {
    const nodes = [{ kubelet: ONE_POD }, { kubelet: ONE_POD }];
    const own = { release: '1.37', gates: { GenericWorkload: true }, apis: ['scheduling.k8s.io/v1beta1'] } as const;
    cluster = await startCluster({ ...own, nodes, images: [OPERATOR_IMAGE] });
    operator = await startOperator(cluster);
    await cluster.api.create(CLASSES, {
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name: 'urgent' },
      value: 1000,
    });
  });
  afterAll(async () => {
    await operator?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const telling = (work: () => Promise<void>): Promise<void> =>
    tellingState(cluster, work).catch((thrown: unknown) => {
      throw new Error(`${String(thrown)}\n\n${operator.said()}`, { cause: thrown });
    });
  const podsOf = (job: string): Promise<readonly KubeObject[]> =>
    cluster.api.list(`${PODS}?labelSelector=training.kubeflow.org/job-name=${job}`);
  const whenPods = (job: string, what: string, isSo: (pods: readonly KubeObject[]) => boolean): Promise<readonly KubeObject[]> =>
    eventually(`${job}: ${what}`, async () => {
      const pods = await podsOf(job);
      return isSo(pods) ? pods : null;
    });
  const isBound = ({ spec }: KubeObject): boolean => spec?.nodeName !== undefined;
  const isRunning = ({ status }: KubeObject): boolean => status?.phase === 'Running';
  const removeJob = async (job: string): Promise<void> => {
    await cluster.api.remove(`${GANG_JOBS}/${job}`);
    await whenPods(job, 'gone', (pods) => pods.length === 0);
  };

  it('bind no half gang, and all of it once there is room', () =>
    telling(async () => {
      await cordon(cluster, 'node-2', true);
      await cluster.api.create(GANG_JOBS, gang('whole'));
      const group = await eventually('the scheduler to find no room', async () => {
        const found = await cluster.api.get(`${GROUPS}/whole-attempt-1`);
        const conditions = (found?.status?.conditions ?? []) as readonly { readonly type: string; readonly reason?: string }[];
        return conditions.some((each) => each.reason === 'Unschedulable') ? found : null;
      });
      expect(group?.spec).toMatchObject({ schedulingPolicy: { gang: { minCount: 2 } }, disruptionMode: { all: {} } });
      const waiting = await whenPods('whole', 'both pods', (pods) => pods.length === 2);
      expect(waiting.map(({ spec }) => spec?.schedulingGroup)).toEqual([
        { podGroupName: 'whole-attempt-1' },
        { podGroupName: 'whole-attempt-1' },
      ]);
      // One pod would fit on the other node.
      expect(waiting.filter(isBound)).toEqual([]);
      await cordon(cluster, 'node-2', false);
      await whenPods('whole', 'all of it runs', (pods) => pods.length === 2 && pods.every(isRunning));
    }));

  it('are preempted as a whole, and come back as a whole with the next attempt', () =>
    telling(async () => {
      const before = await podsOf('whole');
      const pod = greedyPod('node-1', { priorityClassName: 'urgent', nodeSelector: { 'kubernetes.io/hostname': 'node-1' } });
      await eventually('the pod of higher priority', () => cluster.api.create(PODS, pod).catch(() => null));
      const marked = new Set<string>();
      await whenPods('whole', 'both pods to be preempted', (pods) => {
        for (const each of pods) {
          const isOld = before.some(({ metadata }) => metadata.uid === each.metadata.uid);
          const isMarked = trueConditions(each).some(
            ({ type, reason: why }) => type === 'DisruptionTarget' && why === 'PreemptionByScheduler',
          );
          if (isOld && isMarked) marked.add(each.metadata.uid);
        }
        return marked.size === 2;
      });
      await eventually('the group of the next attempt alone', async () => {
        const groups = await cluster.api.list(GROUPS);
        return groups.map(({ metadata }) => metadata.name).join(' ') === 'whole-attempt-2' ? true : null;
      });
      await whenPods('whole', 'the next attempt to wait', (pods) => pods.length === 2 && !pods.some(isBound));
      await cluster.api.remove(`${PODS}/greedy-node-1?gracePeriodSeconds=0`);
      const after = await whenPods('whole', 'all of it runs again', (pods) => pods.length === 2 && pods.every(isRunning));
      expect(after.map(({ spec }) => spec?.schedulingGroup.podGroupName)).toEqual(['whole-attempt-2', 'whole-attempt-2']);
      await removeJob('whole');
      await eventually('its group to go with it', async () => ((await cluster.api.list(GROUPS)).length === 0 ? true : null));
    }));

  it('are left alone by a job that opts out: the half that fits is bound', () =>
    telling(async () => {
      await cordon(cluster, 'node-2', true);
      await cluster.api.create(GANG_JOBS, gang('half', { 'holdfast.dev/native-gang': 'false' }));
      const pods = await whenPods('half', 'one of two pods to be bound', (each) => each.length === 2 && each.filter(isBound).length === 1);
      expect(pods.map(({ spec }) => spec?.schedulingGroup)).toEqual([undefined, undefined]);
      expect(await cluster.api.list(GROUPS)).toEqual([]);
      await cordon(cluster, 'node-2', false);
      await removeJob('half');
    }));
});

describe.skipIf(reason !== null)(`making room in Kubernetes 1.37${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  it('can count on a nominated node: it keeps pods of equal and lower priority away, also from a pod that never preempts', async () => {
    await using cluster = await startForSmallClusters('1.37', 1);
    expect(await reserveBothWays(cluster)).toEqual(RESERVED);
  });
});
