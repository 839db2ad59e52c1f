import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Cluster } from '../../../test/kubernetes/cluster/cluster.ts';

/** What happens to the pods of a namespace. */
export type Blow =
  /** These vanish at once. */
  | { readonly kind: 'delete'; readonly pods: readonly string[] }
  /** Any one of them fails. */
  | { readonly kind: 'fail' }
  /** The PyTorchJob is suspended, and resumed when its last pod is gone. */
  | { readonly kind: 'suspend'; readonly job: string };

/** Strikes the pods of a namespace, and waits until all of them are new and run. */
export interface KubeletOrder {
  readonly namespace: string;
  /** Null: the pods that are there count. */
  readonly blow: Blow | null;
  /** The label whose values part the pods into groups; null: all are one group. */
  readonly groupLabel: string | null;
  readonly groups: number;
  /** The pods of each group. */
  readonly each: number;
  /** All pods of the namespace, once it is calm. */
  readonly all: number;
}

/** When it happened, in milliseconds since 1970. */
export interface KubeletAnswer {
  readonly beganMs: number;
  /** When the last new pod of each group was there, the earliest first. */
  readonly recreatedMs: readonly number[];
  /** When all of them ran. */
  readonly calmMs: number;
}

const PROGRAM = join(import.meta.dirname, 'kubelets.ts');
/** Neither the operators nor the control plane: the audit log tells them apart. */
const USER = 'played-kubelets';
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';

/** The process that stands for all kubelets, until it is disposed of. */
export class Kubelets {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  private constructor(cluster: Cluster, kubeconfig: string) {
    const inNetwork = cluster.inNetwork([process.execPath, PROGRAM, kubeconfig]);
    const [program, ...line] = ['setpriv', '--pdeathsig', 'TERM', ...inNetwork] as const;
    this.#child = spawn(program, line, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  static async start(cluster: Cluster): Promise<Kubelets> {
    await cluster.api.create(BINDINGS, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: USER },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: USER }],
    });
    const config = JSON.parse(readFileSync(cluster.kubeconfig, 'utf8')) as { readonly users: readonly { readonly user: object }[] };
    const users = config.users.map((each) => ({ ...each, user: { ...each.user, as: USER } }));
    const kubeconfig = join(cluster.folder, 'kubeconfig-kubelets');
    writeFileSync(kubeconfig, JSON.stringify({ ...config, users }), { mode: 0o600 });
    return new Kubelets(cluster, kubeconfig);
  }

  /** Carries out an order, and answers when all of it has happened. */
  async obey(order: KubeletOrder): Promise<KubeletAnswer> {
    this.#child.stdin.write(`${JSON.stringify(order)}\n`);
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error('the played kubelets ended');
    return JSON.parse(value) as KubeletAnswer;
  }

  stop(): void {
    this.#child.stdin.end();
  }
}
