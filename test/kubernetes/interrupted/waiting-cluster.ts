import { it } from 'vitest';
import { startCluster } from '../cluster/cluster.ts';
import { BASE_IMAGE } from '../cluster/runtime.ts';
import { eventually } from '../cluster/wait.ts';
import { PODS } from '../scenario/objects.ts';

it('starts a cluster with a pod that runs, says where, and waits to be interrupted', async () => {
  const cluster = await startCluster({ nodes: [{}] });
  const { id, folder, api } = cluster;
  const container = { name: 'main', image: BASE_IMAGE, imagePullPolicy: 'Never', command: ['/busybox/sleep', '100000'] };
  await api.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'running' }, spec: { containers: [container] } });
  await eventually('its pod', async () => ((await api.get(`${PODS}/running`))?.status?.phase === 'Running' ? true : null));
  const network = (await cluster.run(['readlink', '/proc/self/ns/net'])).trim();
  process.stdout.write(`${JSON.stringify({ id, folder, network, pid: process.pid })}\n`);
  await new Promise(() => {});
});
