import type { Cluster } from '../cluster/cluster.ts';
import type { ClusterNode } from '../cluster/node.ts';
import { eventually } from '../cluster/wait.ts';
import { History } from './history.ts';
import { type NameOf, filled } from './placeholders.ts';
import type { Played } from './reduce.ts';
import type { Scenario } from './scenario.ts';
import type { Stage } from './stage.ts';
import { createObject, take } from './steps.ts';

const NAMESPACES = '/api/v1/namespaces';

interface PlayOptions {
  readonly namespace: string;
  /** More facts to wait for, after the scenario's own. */
  readonly alsoUntil?: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/** Plays a scenario once in its own namespace and returns everything that was seen. */
export function play(stage: Stage, scenario: Scenario, options: PlayOptions): Promise<Played> {
  if (!scenario.ownNode) return playOn(stage.cluster, null, { ...options, scenario });
  return stage.withNode((node) => playOn(stage.cluster, node, { ...options, scenario }));
}

async function playOn(
  cluster: Cluster,
  node: ClusterNode | null,
  { scenario, namespace, alsoUntil = [], signal }: PlayOptions & { readonly scenario: Scenario },
): Promise<Played> {
  const made = await cluster.api.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const since = Number((made.metadata as { readonly resourceVersion?: string }).resourceVersion);
  const stop = new AbortController();
  try {
    const account = `${NAMESPACES}/${namespace}/serviceaccounts/default`;
    await eventually(`the service account of ${namespace}`, () => cluster.api.get(account), { signal });
    const history = History.watch(cluster, { namespace, since, node: node?.name }, stop.signal);
    const scene = { cluster, namespace, node, history };
    const nameOf: NameOf = (word) => {
      if (word === 'namespace') return namespace;
      return word === 'node' ? (node?.name ?? 'none') : history.roles.objectOf(word).metadata.name;
    };
    for (const object of scenario.objects) await createObject(scene, filled(object, nameOf));
    for (const [index, step] of scenario.steps.entries()) {
      if (step.when !== undefined) await history.whenSeen([step.when], signal);
      await take(scene, filled(step, nameOf), index + 1);
    }
    await history.whenSeen(scenario.until, signal);
    const over = history.seconds;
    await history.whenSeen(alsoUntil, signal);
    history.mustBeWhole();
    return { facts: history.facts, roles: history.roles.all, over };
  } finally {
    stop.abort();
    await cluster.api.remove(`${NAMESPACES}/${namespace}`);
  }
}
