import type { Taint } from '../../../scheduler/objects/node.ts';
import type { SchedulerPod } from '../../../scheduler/objects/pod.ts';
import { tolerates } from '../../../scheduler/objects/toleration.ts';
import { type Play, play } from '../play.ts';
import { type Alternative, type Asked, playedCost } from './alternative.ts';

/** Lets the pods go to nodes that their own selector, or a taint, keeps them from. */
export function fewerDemands(asked: Asked): readonly Alternative[] {
  return [...withoutSelector(asked), ...withTolerations(asked)];
}

function withoutSelector({ world, cluster, pods, template }: Asked): readonly Alternative[] {
  const keys = new Set(pods.flatMap(({ nodeSelector }) => [...nodeSelector].map(([key, value]) => `${key}: ${value}`)));
  const hasTerms = pods.some(({ affinity }) => affinity.nodeTerms !== null);
  if (keys.size === 0 && !hasTerms) return [];
  const played = play(
    world,
    cluster,
    pods.map((pod) => ({ ...pod, nodeSelector: new Map(), affinity: { ...pod.affinity, nodeTerms: null } })),
  );
  if (!helps(played)) return [];
  const change = [
    ...(keys.size === 0 ? [] : [`remove ${template}spec.nodeSelector {${[...keys].join(', ')}}`]),
    ...(hasTerms ? [`remove the required terms of ${template}spec.affinity.nodeAffinity`] : []),
  ];
  return [{ kind: 'fewer-demands', title: `allow other nodes (${nodesOf(played)})`, change, ...playedCost(played) }];
}

function withTolerations({ world, cluster, pods, template }: Asked): readonly Alternative[] {
  const missing = new Map<string, Taint>();
  for (const { node } of cluster.nodes) {
    for (const taint of node.taints) {
      const isOwn = taint.key.startsWith('node.kubernetes.io/') || taint.effect === 'PreferNoSchedule';
      if (!isOwn && pods.some(({ tolerations }) => !tolerates(tolerations, taint)))
        missing.set(`${taint.key}=${taint.value}:${taint.effect}`, taint);
    }
  }
  if (missing.size === 0) return [];
  const added = [...missing.values()].map(({ key, value, effect }) => ({ key, operator: 'Equal', value, effect }));
  const played = play(
    world,
    cluster,
    pods.map((pod): SchedulerPod => ({ ...pod, tolerations: [...pod.tolerations, ...added] })),
  );
  if (!helps(played)) return [];
  const used = [...played.nodes.values()].flatMap((name) => cluster.node(name)?.node.taints ?? []);
  const needed = [...missing].filter(([, taint]) =>
    used.some(({ key, value, effect }) => key === taint.key && value === taint.value && effect === taint.effect),
  );
  if (needed.length === 0) return [];
  const change = needed.map(
    ([, { key, value, effect }]) => `${template}spec.tolerations: [{key: ${key}, operator: Equal, value: "${value}", effect: ${effect}}]`,
  );
  return [{ kind: 'fewer-demands', title: `tolerate a taint (${nodesOf(played)})`, change, ...playedCost(played) }];
}

function helps({ nowhere, victims }: Play): boolean {
  return nowhere.length === 0 && victims.length === 0;
}

function nodesOf({ nodes }: Play): string {
  const names = [...new Set(nodes.values())];
  return names.length > 2 ? `${names.length} nodes with room` : `${names.join(' and ')} ${names.length === 1 ? 'has' : 'have'} room`;
}
