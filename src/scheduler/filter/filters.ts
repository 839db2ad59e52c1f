import type { Cluster } from '../cluster/cluster.ts';
import type { NodeState } from '../cluster/node-state.ts';
import type { CountedPod } from '../cluster/placed-pod.ts';
import type { SchedulerPod } from '../objects/pod.ts';
import type { Filter, MakeFilter } from './filter.ts';
import { neighboursFit } from './neighbours.ts';
import { isNamed, isNotCordoned, isWanted, portsAreFree, taintsAreTolerated } from './node-filters.ts';
import { resourcesFit } from './resources-fit.ts';
import { isEvenlySpread } from './spread.ts';
import type { Refusal } from './verdict.ts';

/** In the scheduler’s order: the first that refuses is the one that is heard. */
const FILTERS: readonly MakeFilter[] = [
  isNamed,
  isNotCordoned,
  taintsAreTolerated,
  isWanted,
  portsAreFree,
  resourcesFit,
  isEvenlySpread,
  neighboursFit,
];

/** All filters for one pod, over a cluster that only changes through `takeOff` and `putBack`. */
export class PodFilters {
  readonly #counted: CountedPod;
  readonly #cluster: Cluster;
  readonly #filters: readonly Filter[];
  readonly #watching: readonly Filter[];

  constructor(pod: SchedulerPod, cluster: Cluster) {
    this.#counted = cluster.counted(pod);
    this.#cluster = cluster;
    this.#filters = FILTERS.flatMap((make) => make(this.#counted, cluster) ?? []);
    this.#watching = this.#filters.filter((filter) => 'moved' in filter);
  }

  /**
   * Why the node does not take the pod, or null. Where the node is promised to pods that are no
   * less important, the pod must fit beside them as if they were there, and also without them.
   */
  check(node: NodeState): Refusal | null {
    const { pod } = this.#counted;
    const promised = this.#cluster.nominatedTo(node.node.name);
    if (promised.length === 0) return this.#checkAlone(node);
    const ahead = promised.filter((each) => each.pod.priority >= pod.priority && each.pod.key !== pod.key);
    for (const each of ahead) this.putBack(each, node);
    const beside = this.#checkAlone(node);
    for (const each of ahead) this.takeOff(each, node);
    return beside ?? (ahead.length === 0 ? null : this.#checkAlone(node));
  }

  /** Takes a pod off a node, until it is put back. */
  takeOff(counted: CountedPod, node: NodeState): void {
    node.remove(counted);
    this.moved(counted, node, -1);
  }

  putBack(counted: CountedPod, node: NodeState): void {
    node.add(counted);
    this.moved(counted, node, 1);
  }

  /** Notes that another pod came to a node (`sign` 1) or left it (-1). */
  moved(counted: CountedPod, node: NodeState, sign: 1 | -1): void {
    for (const filter of this.#watching) filter.moved?.(counted.pod, node, sign);
  }

  #checkAlone(node: NodeState): Refusal | null {
    for (const filter of this.#filters) {
      const refusal = filter.check(node);
      if (refusal !== null) return refusal;
    }
    return null;
  }
}
