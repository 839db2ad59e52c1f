import { type KubeEvent, eventOf } from './event.ts';
import { type Job, jobOf } from './job.ts';
import { type KubeNode, nodeOf } from './node.ts';
import { type KubeObject, controllerOf } from './object.ts';
import { type Pod, podOf } from './pod.ts';

/** The name of an object; an event and a command line give no more than this. */
type Place = Pick<KubeObject, 'kind' | 'name' | 'namespace'>;

/** The least priority of the system PriorityClasses. */
export const CRITICAL_PRIORITY = 2_000_000_000;

/** How the objects were read, where they come from a cluster. */
export interface ReadingOfCluster {
  readonly unread: ReadonlySet<string>;
  readonly marksDisruptions: boolean;
}

const FROM_FILES: ReadingOfCluster = { unread: new Set(), marksDisruptions: false };

/** The objects of a dump or of a cluster; parses each kind once and finds objects by name. */
export class ClusterState {
  readonly objects: readonly KubeObject[];
  readonly pods: readonly Pod[];
  readonly jobs: readonly Job[];
  readonly #nodes: ReadonlyMap<string, KubeNode>;
  readonly #eventsByPlace = new Map<string, KubeEvent[]>();
  readonly #podsByOwner = new Map<string, Pod[]>();
  readonly #rivalsByNode = new Map<string, Set<Pod>>();
  readonly #jobs: ReadonlyMap<string, Job>;
  readonly #objectsByName = new Map<string, KubeObject[]>();
  readonly #kinds: ReadonlySet<string>;
  /**
   * Requested kinds that are absent or unreadable. A missing object of such a kind proves nothing.
   */
  readonly unread: ReadonlySet<string>;
  /**
   * The objects come from an API server that marks each pod that it evicts or preempts with the
   * condition DisruptionTarget. A file may have lost that condition, so there its absence proves
   * nothing.
   */
  readonly marksDisruptions: boolean;

  constructor(objects: readonly KubeObject[], reading: ReadingOfCluster = FROM_FILES) {
    this.objects = objects;
    this.unread = reading.unread;
    this.marksDisruptions = reading.marksDisruptions;
    this.pods = objects.filter(({ kind }) => kind === 'Pod').map(podOf);
    this.#kinds = new Set(objects.map(({ kind }) => kind));
    for (const object of objects) if (object.kind !== 'Event') push(this.#objectsByName, object.name, object);
    this.jobs = objects.filter(({ kind }) => kind === 'Job').map(jobOf);
    this.#jobs = new Map(this.jobs.map((job) => [placeKey(job.object), job]));
    this.#nodes = new Map(objects.filter(({ kind }) => kind === 'Node').map((object) => [object.name, nodeOf(object)]));
    const events = objects.filter(({ kind }) => kind === 'Event').flatMap((object) => eventOf(object) ?? []);
    const inOrder = events.toSorted((a, b) => (a.atMs ?? 0) - (b.atMs ?? 0));
    for (const event of inOrder) push(this.#eventsByPlace, placeKey(event.about), event);
    for (const pod of this.pods) {
      const owner = controllerOf(pod.object);
      if (owner !== null) push(this.#podsByOwner, placeKey({ ...owner, namespace: pod.object.namespace }), pod);
      if (pod.nominatedNode !== null) this.#addRival(pod.nominatedNode, pod);
      const canEvict = pod.nominatedNode !== null || (pod.spec.priority ?? 0) >= CRITICAL_PRIORITY;
      if (pod.spec.nodeName !== null && canEvict) this.#addRival(pod.spec.nodeName, pod);
    }
  }

  /** Whether there is any node. In a dump without nodes, a missing node proves nothing. */
  get hasNodes(): boolean {
    return this.#nodes.size > 0;
  }

  node(name: string): KubeNode | null {
    return this.#nodes.get(name) ?? null;
  }

  /** Events about an object, oldest first. Events of a node count whatever their namespace. */
  eventsAbout(place: Place & { readonly uid?: string | null }): readonly KubeEvent[] {
    const all = this.#eventsByPlace.get(placeKey(place)) ?? [];
    // An earlier object may have had the same name.
    return place.kind === 'Node' ? all : all.filter(({ about }) => isSameOrUnknown(about.uid, place.uid ?? null));
  }

  /** The pods that an object created directly. */
  podsOf(owner: Place): readonly Pod[] {
    return this.#podsByOwner.get(placeKey(owner)) ?? [];
  }

  /**
   * The pods that may have taken the place of another one on this node: they are nominated for it,
   * came there after a nomination, or are critical. A node may have thousands of ended pods, so the
   * others are left out.
   */
  rivalsOn(node: string): readonly Pod[] {
    return [...(this.#rivalsByNode.get(node) ?? [])];
  }

  #addRival(node: string, pod: Pod): void {
    const rivals = this.#rivalsByNode.get(node) ?? new Set<Pod>();
    this.#rivalsByNode.set(node, rivals.add(pod));
  }

  job(place: Omit<Place, 'kind'>): Job | null {
    return this.#jobs.get(placeKey({ ...place, kind: 'Job' })) ?? null;
  }

  /** Whether there is any object of this kind. */
  hasKind(kind: string): boolean {
    return this.#kinds.has(kind);
  }

  /**
   * The objects of this name, in any namespace if none is given. Compares kinds as kubectl does.
   */
  find(kind: string, name: string, namespace: string | null): readonly KubeObject[] {
    const wanted = kind.toLowerCase();
    const named = this.#objectsByName.get(name) ?? [];
    return named.filter((object) => object.kind.toLowerCase() === wanted && isSameOrUnknown(object.namespace, namespace));
  }
}

function placeKey({ kind, name, namespace }: Place): string {
  return kind === 'Node' ? `Node//${name}` : `${kind}/${namespace ?? ''}/${name}`;
}

function isSameOrUnknown(a: string | null, b: string | null): boolean {
  return a === null || b === null || a === b;
}

function push<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
}
