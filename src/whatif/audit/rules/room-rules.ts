import { titleOf } from '../../../kube/objects/object.ts';
import { isAccelerator } from '../../../kube/objects/pod-spec.ts';
import { placePod } from '../../../scheduler/place/place.ts';
import { preempt } from '../../../scheduler/preempt/preempt.ts';
import { nodesFor } from '../../loss/fragmentation.ts';
import { someOf } from '../../world/note.ts';
import type { Risk, Rule } from '../risk.ts';

const MOST_WAITING = 50;

/** Finds pods that wait, and would have room if less important pods were not there. */
export const waitsBehindLessImportant: Rule = ({ world }) => {
  const cluster = world.cluster();
  return cluster.waiting.slice(0, MOST_WAITING).flatMap((pod): readonly Risk[] => {
    const alone = { ...pod, nominatedNode: null };
    const placement = placePod(cluster, alone);
    if (placement.node !== null) return [];
    // As if it were allowed to evict.
    const would = preempt(cluster, { ...placement, pod: { ...alone, neverPreempts: false } });
    const [lead] = would.best;
    if (lead === undefined) return [];
    const why = pod.neverPreempts ? 'its class has preemptionPolicy Never' : 'the scheduler has not evicted for it';
    return [
      {
        code: 'WAITS_BEHIND_LESS_IMPORTANT',
        subject: `pod/${pod.name} in ${pod.namespace}`,
        evidence: `priority ${pod.priority} waits behind ${someOf(
          lead.victims.map(({ key, priority }) => `${key} (${priority})`),
          2,
        )}: ${why}`,
        fix: pod.neverPreempts
          ? 'annotate it with holdfast.dev/make-room: "true", or free the room by hand'
          : 'see its events: kubectl describe pod; a nominated node shows an eviction under way',
      },
    ];
  });
};

/**
 * Finds common requests that fit no node although enough accelerators are free in all. Those of a
 * cordoned node are not counted. Where one node has enough of them, something else keeps pods away.
 */
export const fragmented: Rule = ({ world, shapes }) => {
  const cluster = world.cluster();
  const open = cluster.nodes.filter(({ node }) => !node.isCordoned);
  const free = open.map((node) => {
    const used = node.pods.reduce(
      (sum, { pod }) => sum + [...pod.requests.all].reduce((own, [name, amount]) => own + (isAccelerator(name) ? amount : 0), 0),
      0,
    );
    const all = [...node.node.allocatable].reduce((sum, [name, amount]) => sum + (isAccelerator(name) ? amount : 0), 0);
    return Math.max(0, all - used);
  });
  const total = free.reduce((sum, count) => sum + count, 0);
  const most = Math.max(0, ...free);
  return shapes.flatMap((shape): readonly Risk[] => {
    if (shape.accelerators > total || shape.accelerators <= most || nodesFor(shape, cluster) > 0) return [];
    return [
      {
        code: 'FRAGMENTED',
        subject: shape.request,
        evidence: `${total} accelerators are free, at most ${most} on one node; ${shape.pods} ${shape.pods === 1 ? 'pod asks' : 'pods ask'} for this${shape.waiting === 0 ? '' : `, ${shape.waiting} of them waiting`}`,
        fix: 'place small pods together: a taint or a node pool for them, or the MostAllocated score of the scheduler',
      },
    ];
  });
};

/** Finds pods that ask for room although their class does not wait for it. */
export const mayEvictFirst: Rule = ({ world }) => {
  const asking = new Set(
    world.objects.flatMap(({ kind, annotations, name, namespace }) =>
      kind === 'Pod' && annotations.get('holdfast.dev/make-room') === 'true' ? [`${namespace ?? 'default'}/${name}`] : [],
    ),
  );
  return world.input.pods
    .filter(({ key, neverPreempts, isOver }) => asking.has(key) && !neverPreempts && !isOver)
    .map(
      ({ name, namespace }): Risk => ({
        code: 'MAY_EVICT_FIRST',
        subject: titleOf({ kind: 'Pod', name, namespace }),
        evidence: 'it asks for room, and its class lacks preemptionPolicy: Never',
        fix: 'give it a PriorityClass of the same value with preemptionPolicy: Never',
      }),
    );
};
