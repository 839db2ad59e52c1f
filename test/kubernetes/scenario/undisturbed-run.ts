import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';
import { whenReady } from '../cluster/node.ts';
import { eventually } from '../cluster/wait.ts';
import { nodeNamed } from './cause.ts';
import { whenEnded, whenHolding, withJob } from './held-run.ts';
import { type Outcome, type Place, wholeStory } from './interrupted-run.ts';
import { taintsOf } from './objects.ts';

/**
 * Stops the kubelet of a run's node for less time than the pod may stay bound to a silent node,
 * then starts it again.
 */
export async function undisturbedRun(cluster: Cluster, { pool, manner }: Place): Promise<Outcome> {
  const wish = { name: `away-${manner}`, manner, pool };
  return withJob(cluster, wish, async (shared) => {
    const run = await whenHolding(cluster, wish, shared);
    const kubelet = nodeNamed(cluster, run.node);
    await kubelet.stopKubelet();
    await eventually(`${run.node} to be given up`, async () => {
      const taints = await taintsOf(cluster, run.node);
      return taints.some(({ key, effect }) => key === 'node.kubernetes.io/unreachable' && effect === 'NoExecute') ? true : null;
    });
    kubelet.startKubelet();
    writeFileSync(join(shared, 'go'), '');
    const ended = await whenEnded(run, true);
    // The next pod must not meet taints that are left from the kubelet's absence.
    await whenReady(cluster.api, kubelet);
    return { ...(await wholeStory(run, ended)), isJobGone: false };
  });
}
