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

/** Waits until a node is no longer kept free for its pressure (`disk`, `memory`). */
export async function whenPressureIsOver(cluster: Cluster, node: string, kind: 'disk' | 'memory'): Promise<void> {
  await eventually(`the end of the ${kind} pressure of ${node}`, async () => {
    const taints = await taintsOf(cluster, node);
    return taints.some(({ key }) => key === `node.kubernetes.io/${kind}-pressure`) ? null : true;
  });
}

/** Where the next pod is to go elsewhere: waits until it has a place, or the Job wants none any more. */
export async function whenNextPodIsPlaced(cluster: Cluster, job: string, notOn: string): Promise<void> {
  await eventually(`the next pod of ${job}, or its end`, async () => {
    const found = await cluster.api.get(`${JOBS}/${job}`);
    const isOver =
      found === null || trueConditions(found).some(({ type }) => /^(Complete|Failed|SuccessCriteriaMet|FailureTarget)$/.test(type));
    const isPlaced = (await podsOf(cluster, job)).some(({ spec }) => spec?.nodeName !== undefined && spec.nodeName !== notOn);
    return isOver || isPlaced ? true : null;
  });
}

export async function whenNodeIsReady(cluster: Cluster, node: string): Promise<void> {
  await eventually(`node ${node} to be ready again`, async () => {
    const isReady = trueConditions(await cluster.api.get(`${NODES}/${node}`)).some(({ type }) => type === 'Ready');
    const isHeldBack = (await taintsOf(cluster, node)).some(({ key }) => key === 'node.kubernetes.io/not-ready');
    return isReady && !isHeldBack ? true : null;
  });
}
