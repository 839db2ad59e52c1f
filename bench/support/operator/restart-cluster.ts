import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyV1Kinds } from '../../../test/kubernetes/beside/v1-process.ts';
import { createPlayedNode, PATIENT } from '../../../test/kubernetes/beside/actions.ts';
import { type Cluster, startCluster } from '../../../test/kubernetes/cluster/cluster.ts';
import { eventually } from '../../../test/kubernetes/cluster/wait.ts';
import { defineTrainingRuns } from '../../../test/kubernetes/scenario/operator-process.ts';
import { Kubelets } from './kubelets-process.ts';

/** Writes are noted, but for events; the control plane and the played kubelets write, too. */
const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'None', verbs: ['get', 'list', 'watch'] },
    {
      level: 'None',
      resources: [
        { group: '', resources: ['events'] },
        { group: 'events.k8s.io', resources: ['events'] },
      ],
    },
    { level: 'Metadata', omitManagedFields: true },
  ],
};

/** A span of time, in milliseconds since 1970. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A control plane without nodes, and played kubelets, until it is disposed of. */
export interface RestartCluster extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly kubelets: Kubelets;
  /** A folder that is removed with the cluster. */
  readonly folder: string;
  createNamespace(name: string): Promise<void>;
  /** How many writes an operator has made in a namespace, by the audit log; events do not count. */
  writesIn(namespace: string, span: Span): number;
}

/** An entry of the audit log, as far as it is read. */
interface AuditEntry {
  readonly requestReceivedTimestamp: string;
  readonly userAgent?: string;
  readonly impersonatedUser?: object;
  readonly objectRef?: { readonly namespace?: string };
}

/**
 * Starts a control plane with the kinds of v1 and the operator. The flags are those of its
 * controllers.
 */
export async function startRestartCluster(v1Folder: string, controllers: Readonly<Record<string, string>>): Promise<RestartCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const [policy, log] = [join(folder, 'audit-policy.json'), join(folder, 'audit.log')];
  writeFileSync(policy, JSON.stringify(AUDIT_POLICY));
  const apiServer = { 'audit-policy-file': policy, 'audit-log-path': log };
  const cluster = await startCluster({ nodes: [], controllerManager: { ...PATIENT, ...controllers }, apiServer });
  await applyV1Kinds(cluster, v1Folder);
  await defineTrainingRuns(cluster);
  await createPlayedNode({ cluster });
  const kubelets = await Kubelets.start(cluster);
  const isOfOperator = ({ userAgent = '', impersonatedUser }: AuditEntry): boolean =>
    userAgent !== '' && !userAgent.startsWith('kube') && impersonatedUser === undefined;
  return {
    cluster,
    kubelets,
    folder,
    async createNamespace(name) {
      await cluster.api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      await eventually(`the account of pods in ${name}`, () => cluster.api.get(`/api/v1/namespaces/${name}/serviceaccounts/default`));
    },
    writesIn(namespace, { fromMs, toMs }) {
      const entries = readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as AuditEntry);
      return entries.filter((entry) => {
        const ms = Date.parse(entry.requestReceivedTimestamp);
        return entry.objectRef?.namespace === namespace && isOfOperator(entry) && ms >= fromMs && ms <= toMs;
      }).length;
    },
    async [Symbol.asyncDispose]() {
      kubelets.stop();
      await cluster[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
