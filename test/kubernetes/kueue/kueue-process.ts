import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import type { Cluster } from '../cluster/cluster.ts';
import { CONTROL_PLANE_IP } from '../cluster/network.ts';
import { eventually } from '../cluster/wait.ts';
import { type SideProcess, startBeside } from '../scenario/side-process.ts';

const SETUP = fileURLToPath(new URL('../setup-kueue.sh', import.meta.url));
const NAMESPACE = 'kueue-system';
const SECRET = `/api/v1/namespaces/${NAMESPACE}/secrets/kueue-webhook-server-cert`;
const SERVICE = 'kueue-webhook-service';
const WEBHOOK_PORT = 9443;
/** What of Kueue's manifests runs no pod and grants nothing: here Kueue is an administrator. */
const KINDS: ReadonlySet<string> = new Set([
  'Namespace',
  'CustomResourceDefinition',
  'Secret',
  'MutatingWebhookConfiguration',
  'ValidatingWebhookConfiguration',
]);

/** A flag with which the API server reaches the webhooks of a Service without kube-proxy. */
export const ROUTING = { 'enable-aggregator-routing': 'true' } as const;

/** Kueue, built and with its manifests; or why it is not here. */
export type Kueue = { readonly folder: string } | { readonly reason: string };

/** Builds Kueue if it is missing, which takes minutes. */
export function findKueue(): Kueue {
  const { status, stdout } = spawnSync(SETUP, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  if (status === 0) return { folder: stdout.trim() };
  return { reason: 'Kueue is not here and cannot be built: that needs Go and a module proxy' };
}

/**
 * Starts Kueue on the network of a cluster that has {@link ROUTING}, with its own manifests and
 * webhooks. Only PyTorchJobs are queued.
 */
export async function startKueue(cluster: Cluster, folder: string, waitForPodsReady: object): Promise<SideProcess> {
  const { api } = cluster;
  const own = mkdtempSync(join(cluster.folder, 'kueue-'));
  await applyManifests(cluster, folder, join(own, 'manifests.json'));
  const certDir = join(own, 'certificates');
  const config = join(own, 'config.json');
  const text = JSON.stringify({
    apiVersion: 'config.kueue.x-k8s.io/v1beta2',
    kind: 'Configuration',
    webhook: { port: WEBHOOK_PORT, certDir },
    leaderElection: { leaderElect: false },
    waitForPodsReady,
    integrations: { frameworks: ['kubeflow.org/pytorchjob'] },
  });
  writeFileSync(config, text);
  const kueue = startBeside(cluster, {
    name: 'Kueue',
    command: [join(folder, 'kueue'), `--config=${config}`, '--feature-gates=VisibilityOnDemand=false', '--zap-log-level=2'],
    log: join(own, 'log'),
    env: { KUBECONFIG: cluster.kubeconfig, HOME: own },
  });
  const { hopeless } = kueue;
  // In a pod, the kubelet mounts them.
  const certificates = await eventually(
    'the certificates of Kueue',
    async () => {
      const { data } = ((await api.get(SECRET)) ?? {}) as { readonly data?: Readonly<Record<string, string>> };
      return data?.['tls.crt'] === undefined ? null : data;
    },
    { hopeless },
  );
  mkdirSync(certDir);
  for (const [name, value] of Object.entries(certificates))
    writeFileSync(join(certDir, name), Buffer.from(value, 'base64'), { mode: 0o600 });
  // The first object for which Kueue's webhooks must answer.
  const flavors = '/apis/kueue.x-k8s.io/v1beta2/resourceflavors';
  const flavor = { apiVersion: 'kueue.x-k8s.io/v1beta2', kind: 'ResourceFlavor', metadata: { name: 'default' }, spec: {} };
  await eventually('the webhooks of Kueue', () => api.create(flavors, flavor).catch(() => null), { hopeless });
  return kueue;
}

/** Applies the manifests of the release, and leads its Service to the process. */
async function applyManifests(cluster: Cluster, folder: string, path: string): Promise<void> {
  const { kubectlCommand: kubectl } = cluster;
  const all = await cluster.run([...kubectl, 'kustomize', join(folder, 'config/default')]);
  const objects = parseAllDocuments(all).map((document) => document.toJS() as { readonly kind: string });
  const items = [...objects.filter(({ kind }) => KINDS.has(kind)), ...serviceOfProcess()];
  writeFileSync(path, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  await cluster.run([...kubectl, 'apply', '--server-side', '-f', path]);
}

/** The Service of the webhooks, without a selector: its address is not that of a pod. */
function serviceOfProcess(): readonly { readonly kind: string }[] {
  const metadata = { name: SERVICE, namespace: NAMESPACE };
  const service = { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ port: 443, targetPort: WEBHOOK_PORT }] } };
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': SERVICE } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [CONTROL_PLANE_IP] }],
    ports: [{ name: '', port: WEBHOOK_PORT, protocol: 'TCP' }],
  };
  return [service, slice];
}
