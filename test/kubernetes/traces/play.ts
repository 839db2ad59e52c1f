import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import { History } from './history.ts';
import type { ManifestObject, Scenario, Step } from './scenario.ts';

const NAMESPACES = '/api/v1/namespaces';
const PLURALS: Readonly<Record<string, string>> = {
  Job: 'jobs',
  CronJob: 'cronjobs',
  Pod: 'pods',
  PodDisruptionBudget: 'poddisruptionbudgets',
};

interface PlayOptions {
  readonly namespace: string;
  /** More facts that are waited for. */
  readonly alsoUntil?: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/** Plays a scenario once in a namespace of its own, and gives all that was seen. */
export async function play(cluster: Cluster, scenario: Scenario, { namespace, alsoUntil = [], signal }: PlayOptions): Promise<History> {
  await cluster.api.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const stop = new AbortController();
  try {
    const account = `${NAMESPACES}/${namespace}/serviceaccounts/default`;
    await eventually(`the service account of ${namespace}`, () => cluster.api.get(account), { signal });
    const history = History.watch(cluster, namespace, stop.signal);
    for (const object of scenario.objects) await cluster.api.create(pathOf(namespace, object), object);
    for (const step of scenario.steps) {
      await history.whenSeen([step.when], signal);
      await take(cluster, namespace, { step, history });
    }
    await history.whenSeen([...scenario.until, ...alsoUntil], signal);
    return history;
  } finally {
    stop.abort();
    await cluster.api.remove(`${NAMESPACES}/${namespace}`);
  }
}

function pathOf(namespace: string, { apiVersion, kind }: Pick<ManifestObject, 'apiVersion' | 'kind'>): string {
  const plural = PLURALS[kind];
  if (plural === undefined) throw new Error(`no scenario can make a ${kind} yet`);
  return `${apiVersion.includes('/') ? '/apis' : '/api'}/${apiVersion}/namespaces/${namespace}/${plural}`;
}

async function take(
  cluster: Cluster,
  namespace: string,
  { step, history }: { readonly step: Step; readonly history: History },
): Promise<void> {
  const path = (role: string): string => {
    const [word] = role.split(' ');
    const kind = { pod: 'Pod', job: 'Job', cronjob: 'CronJob' }[word ?? ''] ?? 'nothing';
    const apiVersion = kind === 'Pod' ? 'v1' : 'batch/v1';
    return `${pathOf(namespace, { apiVersion, kind })}/${history.roles.objectOf(role).metadata.name}`;
  };
  const { api } = cluster;
  if (step.delete !== undefined) await api.remove(`${path(step.delete)}?propagationPolicy=${step.propagation ?? 'Background'}`);
  if (step.patch !== undefined) await api.patch(path(step.patch.object), step.patch.with);
  if (step.remove !== undefined) await api.remove(step.remove.path.replace('NAMESPACE', namespace));
  if (step.evict !== undefined) await evict(cluster, path(step.evict), namespace);
  if (step.refusedEviction !== undefined) {
    const answer = await evict(cluster, path(step.refusedEviction), namespace).then(
      () => 'granted',
      (thrown: unknown) => String(thrown),
    );
    if (!answer.includes('was answered with 429')) throw new Error(`the eviction of ${step.refusedEviction} was to be refused: ${answer}`);
  }
}

async function evict(cluster: Cluster, path: string, namespace: string): Promise<void> {
  const name = path.slice(path.lastIndexOf('/') + 1);
  await cluster.api.create(`${path}/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } });
}
