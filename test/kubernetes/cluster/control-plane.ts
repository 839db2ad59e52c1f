import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeApi } from './api.ts';
import type { Box, Daemon } from './box.ts';
import type { Facility } from './facility.ts';
import { CONTROL_PLANE_IP } from './network.ts';
import { type ClusterOptions, flags } from './options.ts';
import { eventually } from './wait.ts';

const ETCD = 'http://127.0.0.1:2379';
const ETCD_PEERS = 'http://127.0.0.1:2380';
const SERVER = `https://${CONTROL_PLANE_IP}:6443`;

export interface ControlPlane {
  readonly api: KubeApi;
  readonly kubeconfig: string;
  /** Writes a kubeconfig with this node's identity and returns its path. */
  nodeKubeconfig(node: string): string;
}

interface ControlPlaneOptions extends Pick<ClusterOptions, 'apiServer' | 'controllerManager' | 'gates' | 'apis' | 'signal'> {
  readonly box: Box;
  readonly facility: Facility;
  readonly folder: string;
  readonly nodes: readonly string[];
}

export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { box, facility, folder, signal, apis = [] } = options;
  mkdirSync(folder, { recursive: true });
  const at = (name: string): string => join(folder, name);
  const tokens = writeTokens(at('tokens.csv'), options.nodes);
  writeServiceAccountKeys(at('accounts.key'), at('accounts.pub'));
  const kubeconfig = writeKubeconfig(at('kubeconfig'), tokens.admin);
  const etcd = box.start('etcd', [
    facility.program('etcd'),
    ...flags({
      name: 'main',
      'data-dir': at('etcd'),
      'unsafe-no-fsync': 'true',
      'listen-client-urls': ETCD,
      'advertise-client-urls': ETCD,
      'listen-peer-urls': ETCD_PEERS,
      'initial-advertise-peer-urls': ETCD_PEERS,
      'initial-cluster': `main=${ETCD_PEERS}`,
    }),
  ]);
  const apiServer = box.start('kube-apiserver', [
    facility.program('kube-apiserver'),
    ...flags({
      'etcd-servers': ETCD,
      'advertise-address': CONTROL_PLANE_IP,
      'endpoint-reconciler-type': 'none',
      'cert-dir': at('certificates'),
      'token-auth-file': at('tokens.csv'),
      'service-account-issuer': 'https://kubernetes.default.svc',
      'service-account-key-file': at('accounts.pub'),
      'service-account-signing-key-file': at('accounts.key'),
      'authorization-mode': 'Node,RBAC',
      'service-cluster-ip-range': '10.96.0.0/16',
      'kubelet-preferred-address-types': 'InternalIP',
      'allow-privileged': 'true',
      ...gateFlags(options),
      ...(apis.length === 0 ? {} : { 'runtime-config': apis.map((name) => `${name}=true`).join(',') }),
      ...options.apiServer,
    }),
  ]);
  const socket = at('api.sock');
  const proxy = box.start('api-proxy', [facility.program('kubectl'), 'proxy', `--kubeconfig=${kubeconfig}`, `--unix-socket=${socket}`]);
  const api = new KubeApi(socket);
  const first = [etcd, apiServer, proxy];
  const isReady = async (): Promise<true | null> => ((await api.isReady()) ? true : null);
  await eventually('the API server', isReady, { signal, hopeless: () => whyEnded(first) });
  const daemons = [...first, ...startControllers(options, { kubeconfig, at })];
  const account = '/api/v1/namespaces/default/serviceaccounts/default';
  await eventually('the service account of pods', () => api.get(account), { signal, hopeless: () => whyEnded(daemons) });
  return {
    api,
    kubeconfig,
    nodeKubeconfig: (node) => writeKubeconfig(at(`kubeconfig-${node}`), tokens.nodes.get(node) ?? ''),
  };
}

/** Which daemon ended although it should run, or null. */
function whyEnded(daemons: readonly Daemon[]): string | null {
  const ends = daemons.map((daemon) => [daemon.name, daemon.ended()] as const).filter(([, end]) => end !== null);
  return ends.length === 0 ? null : ends.map(([name, end]) => `${name} ${end}`).join('\n');
}

function gateFlags({ gates = {} }: Pick<ClusterOptions, 'gates'>): Readonly<Record<string, string>> {
  const all = Object.entries(gates).map(([name, isOn]) => `${name}=${isOn}`);
  return all.length === 0 ? {} : { 'feature-gates': all.join(',') };
}

function startControllers(
  options: ControlPlaneOptions,
  { kubeconfig, at }: { readonly kubeconfig: string; readonly at: (name: string) => string },
): Daemon[] {
  const { box, facility, controllerManager } = options;
  const configs = { kubeconfig, 'authentication-kubeconfig': kubeconfig, 'authorization-kubeconfig': kubeconfig };
  const own = { ...configs, 'leader-elect': 'false', ...gateFlags(options) };
  return [
    box.start('kube-controller-manager', [
      facility.program('kube-controller-manager'),
      ...flags({
        ...own,
        'service-account-private-key-file': at('accounts.key'),
        'root-ca-file': at('certificates/apiserver.crt'),
        'flex-volume-plugin-dir': at('volume-plugins'),
        ...controllerManager,
      }),
    ]),
    box.start('kube-scheduler', [facility.program('kube-scheduler'), ...flags(own)]),
    startDns({ box, facility }, { kubeconfig, corefile: at('Corefile') }),
  ];
}

function startDns(
  { box, facility }: Pick<ControlPlaneOptions, 'box' | 'facility'>,
  { kubeconfig, corefile }: { readonly kubeconfig: string; readonly corefile: string },
): Daemon {
  writeFileSync(
    corefile,
    `.:53 {\n  bind ${CONTROL_PLANE_IP}\n  errors\n  kubernetes cluster.local {\n    kubeconfig ${kubeconfig}\n  }\n}\n`,
  );
  return box.start('coredns', [facility.program('coredns'), '-conf', corefile]);
}

function writeTokens(path: string, nodes: readonly string[]): { readonly admin: string; readonly nodes: ReadonlyMap<string, string> } {
  const token = (): string => randomBytes(16).toString('hex');
  const [admin, ofNodes] = [token(), new Map(nodes.map((node) => [node, token()]))];
  const lines = [
    `${admin},admin,admin,"system:masters"`,
    ...[...ofNodes].map(([node, own]) => `${own},system:node:${node},${node},"system:nodes"`),
  ];
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 });
  return { admin, nodes: ofNodes };
}

function writeServiceAccountKeys(privatePath: string, publicPath: string): void {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(privatePath, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  writeFileSync(publicPath, publicKey.export({ type: 'spki', format: 'pem' }));
}

function writeKubeconfig(path: string, token: string): string {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'real', cluster: { server: SERVER, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'user', user: { token } }],
    contexts: [{ name: 'real', context: { cluster: 'real', user: 'user' } }],
    'current-context': 'real',
  };
  writeFileSync(path, JSON.stringify(config, null, 2), { mode: 0o600 });
  return path;
}
