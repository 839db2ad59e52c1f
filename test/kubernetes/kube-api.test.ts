import { type AddressInfo, type Server, connect, createServer } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'vitest';
import { realClock } from '../../src/core/clock.ts';
import { openCluster } from '../../src/kube/client/open-cluster.ts';
import { RateLimit } from '../../src/kube/client/rate-limit.ts';
import { ServerApi } from '../../src/kube/client/server-api.ts';
import { describeKubeApi } from '../kube/kube-api-suite.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNotBuilt } from './cluster/facility.ts';
import { eventually } from './cluster/wait.ts';

const reason = whyNotBuilt();
const NAMESPACE = 'kube-api';

describe.skipIf(reason !== null)(`a real API server${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster | null = null;
  let relay: Server | null = null;

  describeKubeApi(
    'the API of a real cluster',
    async () => {
      cluster = await startCluster({ nodes: [{}] });
      const socket = join(cluster.folder, 'control-plane', 'api.sock');
      relay = createServer((client) => {
        const server = connect(socket);
        client.pipe(server).pipe(client);
        for (const side of [client, server]) side.on('error', () => [client.destroy(), server.destroy()]);
      });
      await new Promise<void>((resolve) => relay?.listen(0, '127.0.0.1', resolve));
      const kubeconfig = join(cluster.folder, 'relayed.kubeconfig');
      writeFileSync(kubeconfig, kubeconfigFor((relay.address() as AddressInfo).port));
      const { signal } = new AbortController();
      const { transport } = await openCluster({ kubeconfig, context: null, clock: realClock, signal });
      await cluster.api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
      await eventually('the service account that pods need', () =>
        (cluster as Cluster).api.get(`/api/v1/namespaces/${NAMESPACE}/serviceaccounts/default`),
      );
      const api = new ServerApi(transport, new RateLimit({ perSecond: 200, burst: 400 }, realClock));
      return { api, namespace: NAMESPACE, eventually };
    },
    async () => {
      relay?.close();
      await cluster?.[Symbol.asyncDispose]();
    },
  );
});

function kubeconfigFor(port: number): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'relayed',
    clusters: [{ name: 'relayed', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'admin', user: {} }],
    contexts: [{ name: 'relayed', context: { cluster: 'relayed', user: 'admin' } }],
  });
}
