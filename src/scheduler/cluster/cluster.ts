import type { Budget } from '../objects/budget.ts';
import type { ClusterInput } from '../objects/cluster-input.ts';
import type { SchedulerPod } from '../objects/pod.ts';
import type { PodGroup } from '../objects/pod-group.ts';
import { type Release, type ReleaseRules, rulesOf } from '../objects/release.ts';
import type { Labels } from '../objects/selector.ts';
import type { Workload } from '../objects/workload.ts';
import { Columns } from './columns.ts';
import { NodeState } from './node-state.ts';
import { type CountedPod, countedPod } from './placed-pod.ts';

/** A pod and the node that it is on. */
export interface Place {
  readonly counted: CountedPod;
  readonly at: NodeState;
}

const NO_LABELS: Labels = new Map();
const NONE: readonly CountedPod[] = [];

/**
 * A cluster that pods can be added to and removed from, indexed for the scheduler’s questions. Pods
 * that are over take no part. A pod on a node that is not there takes no part either: `strays` has
 * them.
 */
export class Cluster {
  readonly release: Release;
  readonly rules: ReleaseRules;
  readonly nodes: readonly NodeState[];
  readonly budgets: readonly Budget[];
  readonly groups: ReadonlyMap<string, PodGroup>;
  readonly workloads: readonly Workload[];
  /** Pods that neither run nor are promised a node, in the order of the input. */
  readonly waiting: readonly SchedulerPod[];
  readonly strays: readonly SchedulerPod[];
  readonly columns: Columns;
  readonly #input: ClusterInput;
  readonly #nodesByName: ReadonlyMap<string, NodeState>;
  readonly #places = new Map<string, Place>();
  /** Made when the first question needs it. */
  #byNamespace: Map<string, Set<Place>> | null = null;
  readonly #byGroup = new Map<string, Set<Place>>();
  readonly #withTerms = new Set<Place>();
  readonly #apart = new Set<Place>();
  readonly #nominated = new Map<string, CountedPod[]>();
  #images: ReadonlyMap<string, number> | null = null;
  readonly #counted: WeakMap<SchedulerPod, CountedPod>;

  /** A copy of another cluster shares its columns, and what is counted in them. */
  constructor(input: ClusterInput, copied: Cluster | null = null) {
    this.#input = input;
    this.release = input.release;
    this.rules = rulesOf(input.release);
    this.columns = copied?.columns ?? new Columns();
    this.#counted = copied === null ? new WeakMap() : copied.#counted;
    this.nodes = input.nodes.map((node) => new NodeState(node, this.columns));
    this.#nodesByName = new Map(this.nodes.map((state) => [state.node.name, state]));
    this.budgets = input.budgets;
    this.groups = new Map(input.groups.map((group) => [group.key, group]));
    this.workloads = input.workloads;
    const [waiting, strays]: [SchedulerPod[], SchedulerPod[]] = [[], []];
    for (const pod of input.pods) {
      if (pod.isOver) continue;
      if (pod.nodeName !== null) {
        if (this.#nodesByName.has(pod.nodeName)) this.add(pod, pod.nodeName);
        else strays.push(pod);
        continue;
      }
      waiting.push(pod);
      if (pod.nominatedNode !== null) this.nominate(pod, pod.nominatedNode);
    }
    this.waiting = waiting;
    this.strays = strays;
  }

  /** The same cluster once more, with the pods as they are now, and with more PodGroups. */
  copy(groups: readonly PodGroup[] = []): Cluster {
    const nominated = [...this.#nominated].flatMap(([node, pods]) => pods.map(({ pod }) => ({ ...pod, nominatedNode: node })));
    const placed = [...this.#places.values()].map(({ counted: { pod }, at }) =>
      pod.nodeName === at.node.name ? pod : { ...pod, nodeName: at.node.name },
    );
    const nominatedKeys = new Set(nominated.map(({ key }) => key));
    const others = this.waiting
      .filter(({ key }) => !nominatedKeys.has(key) && !this.#places.has(key))
      .map((pod) => ({ ...pod, nominatedNode: null }));
    const pods = [...placed, ...nominated, ...others, ...this.strays];
    return new Cluster({ ...this.#input, pods, groups: [...this.#input.groups, ...groups] }, this);
  }

  node(name: string): NodeState | null {
    return this.#nodesByName.get(name) ?? null;
  }

  /** The node of a pod, or null if it is on none. */
  nodeOf(key: string): NodeState | null {
    return this.#places.get(key)?.at ?? null;
  }

  /** A pod that is on a node, by `namespace/name`. */
  pod(key: string): SchedulerPod | null {
    return this.#places.get(key)?.counted.pod ?? null;
  }

  /** All pods on nodes. */
  *placed(): Iterable<SchedulerPod> {
    for (const { counted } of this.#places.values()) yield counted.pod;
  }

  labelsOfNamespace(namespace: string): Labels {
    return this.#input.namespaces.get(namespace) ?? NO_LABELS;
  }

  /** Puts a pod on a node. */
  add(pod: SchedulerPod, nodeName: string): void {
    const at = this.#nodesByName.get(nodeName);
    if (at === undefined) throw new Error(`there is no node ${nodeName} for ${pod.key}`);
    if (this.#places.has(pod.key)) throw new Error(`${pod.key} is placed already`);
    const place = { counted: this.counted(pod), at };
    this.#places.set(pod.key, place);
    this.#attach(place);
  }

  /** Takes a pod off its node. */
  remove(key: string): void {
    const place = this.#places.get(key);
    if (place === undefined) throw new Error(`${key} is on no node`);
    this.#places.delete(key);
    this.#detach(place);
  }

  /** Promises a node to a pod that waits. */
  nominate(pod: SchedulerPod, nodeName: string): void {
    const known = this.#nominated.get(nodeName);
    if (known === undefined) this.#nominated.set(nodeName, [this.counted(pod)]);
    else known.push(this.counted(pod));
  }

  /** Takes the promise back. */
  unnominate(key: string): void {
    for (const [name, pods] of this.#nominated) {
      const left = pods.filter(({ pod }) => pod.key !== key);
      if (left.length === 0) this.#nominated.delete(name);
      else if (left.length < pods.length) this.#nominated.set(name, left);
    }
  }

  /** The pods that a node is promised to. */
  nominatedTo(nodeName: string): readonly CountedPod[] {
    return this.#nominated.size === 0 ? NONE : (this.#nominated.get(nodeName) ?? NONE);
  }

  /** How many nodes have an image. */
  nodesWithImage(image: string): number {
    this.#images ??= countImages(this.nodes);
    return this.#images.get(image) ?? 0;
  }

  /** A pod’s requests in this cluster’s columns. */
  counted(pod: SchedulerPod): CountedPod {
    const known = this.#counted.get(pod);
    if (known !== undefined) return known;
    const counted = countedPod(pod, this.columns);
    this.#counted.set(pod, counted);
    return counted;
  }

  /** The pods of a namespace that are on nodes. */
  inNamespace(namespace: string): Iterable<Place> {
    if (this.#byNamespace === null) {
      this.#byNamespace = new Map();
      for (const place of this.#places.values()) addTo(this.#byNamespace, place.counted.pod.namespace, place);
    }
    return this.#byNamespace.get(namespace) ?? [];
  }

  /** All pods that are on nodes, with the nodes. */
  places(): Iterable<Place> {
    return this.#places.values();
  }

  /** Those with any affinity to other pods, or against them. */
  withTerms(): Iterable<Place> {
    return this.#withTerms;
  }

  /** Those that must be apart from other pods. */
  apart(): Iterable<Place> {
    return this.#apart;
  }

  /** The PodGroup that a pod belongs to, in a release that schedules PodGroups. */
  groupOf(pod: SchedulerPod): PodGroup | null {
    if (pod.group === null || !this.rules.canGroup) return null;
    return this.groups.get(`${pod.namespace}/${pod.group}`) ?? null;
  }

  /** The members of a PodGroup that are on nodes, by the group’s key. */
  members(groupKey: string): Iterable<Place> {
    return this.#byGroup.get(groupKey) ?? [];
  }

  #attach(place: Place): void {
    const { pod } = place.counted;
    place.at.add(place.counted);
    if (this.#byNamespace !== null) addTo(this.#byNamespace, pod.namespace, place);
    if (pod.group !== null) addTo(this.#byGroup, `${pod.namespace}/${pod.group}`, place);
    const { near, apart, preferNear, preferApart } = pod.affinity;
    if (near.length + apart.length + preferNear.length + preferApart.length > 0) this.#withTerms.add(place);
    if (apart.length > 0) this.#apart.add(place);
  }

  #detach(place: Place): void {
    place.at.remove(place.counted);
    const { namespace, group } = place.counted.pod;
    this.#byNamespace?.get(namespace)?.delete(place);
    if (group !== null) this.#byGroup.get(`${namespace}/${group}`)?.delete(place);
    this.#withTerms.delete(place);
    this.#apart.delete(place);
  }
}

function countImages(nodes: readonly NodeState[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { node } of nodes) for (const image of node.images.keys()) counts.set(image, (counts.get(image) ?? 0) + 1);
  return counts;
}

function addTo(index: Map<string, Set<Place>>, key: string, place: Place): void {
  const known = index.get(key);
  if (known === undefined) index.set(key, new Set([place]));
  else known.add(place);
}
