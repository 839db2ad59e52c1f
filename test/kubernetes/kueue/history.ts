import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import { GANG_JOBS } from '../scenario/gang-causes.ts';
import { PODS } from '../scenario/objects.ts';

const PATHS = {
  job: GANG_JOBS,
  pod: PODS,
  workload: '/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads',
} as const;
export type Watched = keyof typeof PATHS;

/** A change of an object. */
export interface Change {
  /** The revision of the whole store: changes of all kinds stand in one order. */
  readonly revision: number;
  /** When this process heard of it. */
  readonly heardMs: number;
  readonly kind: Watched;
  readonly isGone: boolean;
  readonly object: KubeObject;
}

/** Everything that happened to jobs, pods and workloads since the watch began. */
export class History {
  readonly #changes: Change[] = [];
  #failure: Error | null = null;

  /** Watches until the signal aborts. */
  static watch({ api }: Cluster, signal: AbortSignal): History {
    const history = new History();
    for (const kind of Object.keys(PATHS) as Watched[])
      api
        .watch(`${PATHS[kind]}?watch=1&resourceVersion=0`, (line) => history.#hear(kind, line), signal)
        .catch((thrown: Error) => (history.#failure = thrown));
    return history;
  }

  #hear(kind: Watched, line: string): void {
    const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: KubeObject };
    const { resourceVersion } = object.metadata as { readonly resourceVersion?: string };
    this.#changes.push({ revision: Number(resourceVersion), heardMs: Date.now(), kind, isGone: type === 'DELETED', object });
  }

  /** The changes of a kind after a revision, in their order. */
  of(kind: Watched, after = 0): readonly Change[] {
    if (this.#failure !== null) throw this.#failure;
    return this.#changes.filter((each) => each.kind === kind && each.revision > after);
  }

  /** Waits for the first change after a revision for which this holds. */
  when(what: string, kind: Watched, isIt: (object: KubeObject) => boolean, after = 0): Promise<Change> {
    return eventually(what, () => this.of(kind, after).find(({ object }) => isIt(object)) ?? null);
  }
}

/** When each pod of an attempt had ended: in the order of the store, and when that was heard. */
export function endsOf(history: History, job: string, attempt: number): readonly Change[] {
  const own = history
    .of('pod')
    .filter(({ object: { metadata } }) => isOf(metadata.labels, job) && metadata.labels?.['holdfast.dev/attempt'] === String(attempt));
  const names = new Set(own.map(({ object }) => object.metadata.uid));
  return [...names].map((uid) => {
    const end = own.find(
      ({ object, isGone }) =>
        object.metadata.uid === uid && (isGone || object.status?.phase === 'Succeeded' || object.status?.phase === 'Failed'),
    );
    if (end === undefined) throw new Error(`a pod of attempt ${attempt} of ${job} has not ended`);
    return end;
  });
}

/** Whether these are the labels of a pod of a job. */
export function isOf(labels: KubeObject['metadata']['labels'], job: string): boolean {
  return labels?.['training.kubeflow.org/job-name'] === job;
}
