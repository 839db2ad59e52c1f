import type { Cluster } from './cluster.ts';
import { BASE_IMAGE } from './runtime.ts';
import { eventually } from './wait.ts';

const PODS = '/api/v1/namespaces/default/pods';

/** Starts a pod that does nothing and never ends by itself, and waits until it runs. */
export async function startEndlessPod({ api }: Pick<Cluster, 'api'>): Promise<void> {
  const containers = [{ name: 'main', image: BASE_IMAGE, imagePullPolicy: 'Never', command: ['/busybox/sleep', '1000000'] }];
  await api.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'endless' }, spec: { containers } });
  await eventually('a pod that runs', async () => ((await api.get(`${PODS}/endless`))?.status?.phase === 'Running' ? true : null));
}
