import { causeGrace } from '../../domain/grace/cause-grace.ts';
import { at } from '../../kube/objects/fields.ts';
import { podGraceOf } from '../../kube/objects/grace-facts.ts';
import { podSpecOf } from '../../kube/objects/pod-spec.ts';
import { Cluster } from '../../scheduler/cluster/cluster.ts';
import { type RankedPod, rankForEviction } from '../../scheduler/evict/rank.ts';
import { podKey } from '../gangs/gang.ts';
import { type StoppedGang, stoppedGangs } from '../loss/stopped-gangs.ts';
import type { World } from '../world/world.ts';
import type { NodeStats } from './stats.ts';

/** What a node can run short of. */
export type Short = 'memory' | 'disk';

/** A pod in the kubelet’s order, and what its eviction would stop. */
export interface PressedAnswer extends RankedPod {
  readonly graceMs: number;
  /** Null for a pod that the kubelet spares. */
  readonly gang: StoppedGang | null;
}

const TAINTS = { memory: 'node.kubernetes.io/memory-pressure', disk: 'node.kubernetes.io/disk-pressure' } as const;
/** Each pod is played on a cluster of its own; the kubelet evicts few before it measures again. */
const MOST_PLAYED = 20;

/** The order in which the kubelet of a node evicts, with what each eviction alone would cost. */
export function answerPressure(world: World, node: string, short: Short, stats: NodeStats): readonly PressedAnswer[] {
  const cluster = world.cluster();
  const objects = new Map(world.objects.filter(({ kind }) => kind === 'Pod').map((pod) => [podKey(pod), pod]));
  const pods = cluster.node(node)?.pods.map(({ pod }) => pod) ?? [];
  const pressed = pods.map((pod) => ({
    pod,
    usage: stats.usage.get(pod.key) ?? null,
    isStatic: objects.get(pod.key)?.annotations.has('kubernetes.io/config.mirror') === true,
  }));
  const ranked = rankForEviction(pressed, { signal: short === 'memory' ? 'memory.available' : 'nodefs.available', ...stats.layout });
  const nodes = world.input.nodes.map((each) =>
    each.name === node ? { ...each, taints: [...each.taints, { key: TAINTS[short], value: '', effect: 'NoSchedule' }] } : each,
  );
  return ranked.map((each, index) => {
    const spec = podSpecOf(at(objects.get(each.pod.key)?.fields, 'spec'));
    const { graceMs } = causeGrace('hard-pressure', podGraceOf(spec));
    if (each.isSpared || index >= MOST_PLAYED) return { ...each, graceMs, gang: null };
    const after = new Cluster({ ...world.input, nodes, pods: world.input.pods.filter(({ key }) => key !== each.pod.key) });
    return { ...each, graceMs, gang: stoppedGangs(world, [each.pod], after)[0] ?? null };
  });
}
