import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import { type SideProcess, startBeside } from '../scenario/side-process.ts';

const SETUP = fileURLToPath(new URL('../setup-training-operator.sh', import.meta.url));
const NAMESPACE = 'kubeflow';
const SECRET = 'training-operator-webhook-cert';
/** Where v1 looks for its certificates, below `/tmp`. */
const CERTIFICATES = 'k8s-webhook-server/serving-certs';
/**
 * Gives v1 a `/tmp` of its own. The program and the kubeconfig may lie below the old one: the
 * former is open already, and the latter has a path from the working folder.
 */
const IN_OWN_TMP = 'exec 3< "$1" && mount --bind "$2" /tmp && shift 2 && exec /proc/self/fd/3 "$@"';
const SECRETS = `/api/v1/namespaces/${NAMESPACE}/secrets`;
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
/** The name that v1's overlays give its webhooks. */
export const WEBHOOK_NAME = 'validator.training-operator.kubeflow.org';

/** The Training Operator v1, built and with its manifests; or why it is not here. */
export type V1 = { readonly folder: string } | { readonly reason: string };

/** Builds v1 if it is missing, which takes minutes. */
export function findV1(): V1 {
  const { status, stdout } = spawnSync(SETUP, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  if (status === 0) return { folder: stdout.trim() };
  return { reason: 'the Training Operator is not here and cannot be built: that needs Go and a module proxy' };
}

/** The kinds of v1 that this project runs, too, as v1 defines them. */
export async function applyV1Kinds(cluster: Cluster, folder: string): Promise<void> {
  for (const kind of ['pytorchjobs', 'tfjobs']) {
    const path = join(folder, `manifests/base/crds/kubeflow.org_${kind}.yaml`);
    await cluster.run([...cluster.kubectlCommand, 'apply', '--server-side', '-f', path]);
  }
  for (const kind of ['pytorchjobs', 'tfjobs'])
    await eventually(`${kind} to be served`, () => cluster.api.text(`/apis/kubeflow.org/v1/${kind}`));
}

/**
 * v1's webhooks as its overlays make them. Nothing here leads to the Service that they name, so
 * they refuse every job, as they do where v1 is gone.
 */
export async function createWebhooks({ api }: Cluster, folder: string): Promise<void> {
  const text = readFileSync(join(folder, 'manifests/base/webhook/manifests.yaml'), 'utf8');
  const object = parse(text) as { readonly webhooks: readonly { readonly clientConfig: object }[] };
  const service = { name: 'training-operator', namespace: NAMESPACE };
  const webhooks = object.webhooks.map((webhook) => {
    const { clientConfig } = webhook as { readonly clientConfig: { readonly service: { readonly path: string } } };
    return { ...webhook, clientConfig: { service: { ...service, path: clientConfig.service.path } } };
  });
  await api.create(WEBHOOKS, { ...object, metadata: { name: WEBHOOK_NAME }, webhooks });
}

/** The settings of a v1 process. */
export interface V1Settings {
  /** The namespace whose jobs it runs; null: all. */
  readonly namespace: string | null;
  readonly initImage: string;
  readonly more?: readonly string[];
}

/**
 * Starts v1 on the cluster's network. Its webhooks are there until it has made their certificates,
 * and are gone when this returns.
 */
export async function startV1(cluster: Cluster, folder: string, { namespace, initImage, more = [] }: V1Settings): Promise<SideProcess> {
  const { api } = cluster;
  const own = mkdtempSync(join(cluster.folder, 'v1-'));
  const kubeconfig = relative(cluster.folder, cluster.kubeconfig);
  if ((await api.get(`/api/v1/namespaces/${NAMESPACE}`)) === null)
    await api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  if ((await api.get(`${SECRETS}/${SECRET}`)) === null)
    await api.create(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata: { name: SECRET } });
  await createWebhooks(cluster, folder);
  const args = [
    ...(namespace === null ? [] : [`--namespace=${namespace}`]),
    `--kubeconfig=${kubeconfig}`,
    `--pytorch-init-container-image=${initImage}`,
  ];
  const kinds = ['--enable-scheme=pytorchjob', '--enable-scheme=tfjob'];
  const command = ['unshare', '--mount', 'sh', '-c', IN_OWN_TMP, 'sh', join(folder, 'training-operator'), own];
  const v1 = startBeside(cluster, {
    name: 'v1',
    command: [...command, ...args, ...kinds, ...more],
    log: join(own, 'log'),
    env: { MY_POD_NAMESPACE: NAMESPACE },
  });
  const { hopeless } = v1;
  const certificates = await eventually(
    'the certificates of v1',
    async () => {
      const data = ((await api.get(`${SECRETS}/${SECRET}`)) as { readonly data?: Readonly<Record<string, string>> } | null)?.data ?? {};
      return Object.keys(data).length < 4 ? null : data;
    },
    { hopeless },
  );
  const place = join(own, CERTIFICATES);
  mkdirSync(place, { recursive: true });
  for (const [name, value] of Object.entries(certificates)) writeFileSync(join(place, name), Buffer.from(value, 'base64'), { mode: 0o600 });
  await eventually('v1 to work', () => (v1.said().includes('Starting workers') ? true : null), { hopeless });
  await api.remove(`${WEBHOOKS}/${WEBHOOK_NAME}`);
  return v1;
}
