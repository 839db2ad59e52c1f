import { it } from 'vitest';
import { startCluster } from '../cluster/cluster.ts';
import { startEndlessPod } from '../cluster/endless-pod.ts';

it('starts a cluster with a pod that runs, says where, and waits to be interrupted', async () => {
  const cluster = await startCluster({ nodes: [{}] });
  await startEndlessPod(cluster);
  const { id, folder } = cluster;
  const network = (await cluster.run(['readlink', '/proc/self/ns/net'])).trim();
  process.stdout.write(`${JSON.stringify({ id, folder, network, pid: process.pid })}\n`);
  await new Promise(() => {});
});
