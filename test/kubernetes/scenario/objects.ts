import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';

export const PODS = '/api/v1/namespaces/default/pods';
export const JOBS = '/apis/batch/v1/namespaces/default/jobs';
export const NODES = '/api/v1/nodes';

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
}

export interface Taint {
  readonly key: string;
  readonly effect: string;
}

export function trueConditions(object: KubeObject | null): readonly Condition[] {
  return ((object?.status?.conditions ?? []) as readonly Condition[]).filter(({ status }) => status === 'True');
}

export function podsOf(cluster: Cluster, job: string): Promise<readonly KubeObject[]> {
  return cluster.api.list(`${PODS}?labelSelector=batch.kubernetes.io/job-name=${job}`);
}

export async function cordon(cluster: Cluster, node: string, unschedulable: boolean): Promise<void> {
  await cluster.api.patch(`${NODES}/${node}`, { spec: { unschedulable } });
}

export async function taintsOf(cluster: Cluster, node: string): Promise<readonly Taint[]> {
  return ((await cluster.api.get(`${NODES}/${node}`))?.spec?.taints ?? []) as readonly Taint[];
}

export async function setTaints(cluster: Cluster, node: string, taints: readonly Taint[]): Promise<void> {
  await cluster.api.patch(`${NODES}/${node}`, { spec: { taints } });
}

type Pressure = 'disk' | 'memory';
/**
 * Free bytes on a disk that is under pressure by the thresholds of these tests, also after the
 * kubelet has removed unused images.
 */
export const NEARLY_FULL_MIB = 100;

/**
 * Waits until the node carries the taint of its pressure. Waiting for the end of the pressure alone
 * could look before the kubelet has reported it.
 */
export async function whenUnderPressure(cluster: Cluster, node: string, kind: Pressure): Promise<void> {
  await eventually(`the ${kind} pressure of ${node}`, async () => ((await isUnderPressure(cluster, node, kind)) ? true : null));
}

/** Waits until the node no longer carries it. */
export async function whenPressureIsOver(cluster: Cluster, node: string, kind: Pressure): Promise<void> {
  await eventually(`the end of the ${kind} pressure of ${node}`, async () => ((await isUnderPressure(cluster, node, kind)) ? null : true));
}

async function isUnderPressure(cluster: Cluster, node: string, kind: Pressure): Promise<boolean> {
  return (await taintsOf(cluster, node)).some(({ key }) => key === `node.kubernetes.io/${kind}-pressure`);
}

/** Waits until the Job's next pod has a place on another node, or the Job wants no more pods. */
export async function whenNextPodIsPlaced(cluster: Cluster, job: string, notOn: string): Promise<void> {
  await eventually(`the next pod of ${job}, or its end`, async () => {
    const found = await cluster.api.get(`${JOBS}/${job}`);
    const isOver =
      found === null || trueConditions(found).some(({ type }) => /^(Complete|Failed|SuccessCriteriaMet|FailureTarget)$/.test(type));
    const isPlaced = (await podsOf(cluster, job)).some(({ spec }) => spec?.nodeName !== undefined && spec.nodeName !== notOn);
    return isOver || isPlaced ? true : null;
  });
}

/** Waits until a node reports that it is not ready, as during a shutdown. */
export async function whenNodeIsNotReady(cluster: Cluster, node: string): Promise<void> {
  await eventually(`node ${node} not to be ready`, async () => ((await isNodeReady(cluster, node)) ? null : true));
}

/** Waits until a node is ready and accepts pods. */
export async function whenNodeIsReady(cluster: Cluster, node: string): Promise<void> {
  await eventually(`node ${node} to be ready again`, async () => {
    const isHeldBack = (await taintsOf(cluster, node)).some(({ key }) => key === 'node.kubernetes.io/not-ready');
    return (await isNodeReady(cluster, node)) && !isHeldBack ? true : null;
  });
}

async function isNodeReady(cluster: Cluster, node: string): Promise<boolean> {
  return trueConditions(await cluster.api.get(`${NODES}/${node}`)).some(({ type }) => type === 'Ready');
}
