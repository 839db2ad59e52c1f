import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import { nodeNamed } from './cause.ts';
import { withJob } from './held-run.ts';
import { type Outcome, type Place, wholeStory } from './interrupted-run.ts';
import { NEARLY_FULL_MIB, NODES, cordon, podsOf, whenPressureIsOver, whenUnderPressure } from './objects.ts';
import { POOL, type TrainingJob } from './training-job.ts';

/**
 * A toleration like a DaemonSet's. Other pods reach such a node if they are bound a moment before
 * the pressure.
 */
const TOLERATIONS = [{ key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' }];

export function rejectedJob({ pool, manner }: Place): TrainingJob {
  return { name: `rejected-${manner}`, manner, pool, podSpec: { tolerations: TOLERATIONS } };
}

/** Binds a Job's pod to a node under disk pressure, which rejects it; then ends the pressure. */
export async function rejectedRun(cluster: Cluster, place: Place): Promise<Outcome> {
  const nodes = await cluster.api.list(`${NODES}?labelSelector=${POOL}=${place.pool}`);
  const [full = '', ...others] = nodes.map(({ metadata }) => metadata.name);
  const kubelet = nodeNamed(cluster, full);
  for (const other of others) await cordon(cluster, other, true);
  await kubelet.fillDisk(NEARLY_FULL_MIB);
  await whenUnderPressure(cluster, full, 'disk');
  const wish = rejectedJob(place);
  return withJob(cluster, wish, async (shared) => {
    const first = await eventually(`a pod of ${wish.name} that was refused`, async () => refusedPod(await podsOf(cluster, wish.name)));
    writeFileSync(join(shared, 'go'), '');
    await kubelet.freeDisk();
    for (const other of others) await cordon(cluster, other, false);
    await whenPressureIsOver(cluster, full, 'disk');
    await kubelet.importImages();
    return { ...(await wholeStory({ cluster, job: wish.name, node: full, shared }, first)), isJobGone: false };
  });
}

function refusedPod(pods: readonly KubeObject[]): KubeObject | null {
  return pods.find(({ status }) => status?.phase === 'Failed' && status.reason === 'Evicted') ?? null;
}
