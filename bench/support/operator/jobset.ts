import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../../../test/kubernetes/cluster/cluster.ts';
import { eventually } from '../../../test/kubernetes/cluster/wait.ts';

const SETUP = join(import.meta.dirname, 'setup-jobset.sh');

/** Builds JobSet if it is missing, which takes minutes; or says why not. */
export function findJobSet(): { readonly folder: string } | { readonly reason: string } {
  const { status, stdout } = spawnSync(SETUP, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  return status === 0 ? { folder: stdout.trim() } : { reason: 'JobSet cannot be built: that needs Go and a module proxy' };
}

/** Adds its kind to the cluster. */
export async function applyJobSetKind(cluster: Cluster, folder: string): Promise<void> {
  await cluster.run([...cluster.kubectlCommand, 'apply', '--server-side', '-f', join(folder, 'jobsets.yaml')]);
  await eventually('JobSets to be served', () => cluster.api.text('/apis/jobset.x-k8s.io/v1alpha2/jobsets'));
}

/**
 * A JobSet of one Job, whose pods all start again when one fails. It has what its webhook would
 * set.
 */
export function jobSetOf(name: string, pods: number, template: object): object {
  const job = {
    parallelism: pods,
    completions: pods,
    completionMode: 'Indexed',
    backoffLimit: 0,
    template: { spec: { ...template, restartPolicy: 'Never' } },
  };
  return {
    apiVersion: 'jobset.x-k8s.io/v1alpha2',
    kind: 'JobSet',
    metadata: { name },
    spec: {
      successPolicy: { operator: 'All' },
      startupPolicy: { startupPolicyOrder: 'AnyOrder' },
      network: { enableDNSHostnames: true, publishNotReadyAddresses: true },
      failurePolicy: { maxRestarts: 1000 },
      replicatedJobs: [{ name: 'workers', replicas: 1, template: { spec: job } }],
    },
  };
}

/** Starts its manager on the cluster's network. Its webhooks are served, and nobody calls them. */
export async function startJobSet(cluster: Cluster, folder: string, flags: readonly string[]): Promise<AsyncDisposable> {
  const own = join(cluster.folder, 'jobset');
  mkdirSync(own, { recursive: true });
  const [key, cert] = [join(own, 'tls.key'), join(own, 'tls.crt')];
  const subject = ['-subj', '/CN=jobset', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' });
  const config = join(own, 'config.json');
  const settings = {
    apiVersion: 'config.jobset.x-k8s.io/v1alpha1',
    kind: 'Configuration',
    leaderElection: { leaderElect: false },
    internalCertManagement: { enable: false },
    webhook: { certDir: own },
    metrics: { certDir: own },
  };
  writeFileSync(config, JSON.stringify(settings));
  const log = join(own, 'log');
  const output = openSync(log, 'w');
  const args = [`--config=${config}`, `--kubeconfig=${cluster.kubeconfig}`, ...flags];
  const [program, ...line] = ['setpriv', '--pdeathsig', 'TERM', ...cluster.inNetwork([join(folder, 'jobset'), ...args])] as const;
  const child = spawn(program, line, { stdio: ['ignore', output, output], env: { PATH: process.env['PATH'], NAMESPACE: 'jobset-system' } });
  closeSync(output);
  const ended = once(child, 'close');
  const said = (): string => readFileSync(log, 'utf8');
  const hopeless = (): string | null => (child.exitCode === null ? null : said().slice(-2000));
  // Each of its two controllers says so.
  await eventually('JobSet to work', () => (said().split('Starting workers').length > 2 ? true : null), { hopeless });
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
