import { type KubeObject, controllerOf } from '../../kube/objects/object.ts';

/** The owners of a pod, from the nearest to the farthest. */
export interface OwnerChain {
  /** An owner that was not read ends the chain; it has only a kind and a name. */
  readonly owners: readonly OwnerLink[];
  /** The chain leads back to an object that is in it already. */
  readonly isCycle: boolean;
}

/** An owner, and its object if it was read. */
export interface OwnerLink {
  readonly kind: string;
  readonly name: string;
  readonly object: KubeObject | null;
}

/** The deepest chain that a controller builds has four links. */
const LONGEST = 16;

/** Finds owners by kind, namespace and name. */
export class Owners {
  readonly #byPlace = new Map<string, KubeObject>();

  constructor(objects: readonly KubeObject[]) {
    for (const object of objects) this.#byPlace.set(placeOf(object.kind, object.namespace, object.name), object);
  }

  find(kind: string, namespace: string | null, name: string): KubeObject | null {
    return this.#byPlace.get(placeOf(kind, namespace, name)) ?? null;
  }

  /** Climbs from a pod to the owner of its owners. Ends at a cycle. */
  chainOf(pod: KubeObject): OwnerChain {
    const owners: OwnerLink[] = [];
    const seen = new Set<KubeObject>([pod]);
    let below: KubeObject | null = pod;
    while (below !== null && owners.length < LONGEST) {
      const owner = controllerOf(below);
      if (owner === null) break;
      const object = this.find(owner.kind, pod.namespace, owner.name);
      if (object !== null && seen.has(object)) return { owners, isCycle: true };
      owners.push({ kind: owner.kind, name: owner.name, object });
      if (object !== null) seen.add(object);
      below = object;
    }
    return { owners, isCycle: false };
  }
}

function placeOf(kind: string, namespace: string | null, name: string): string {
  return `${kind}/${namespace ?? ''}/${name}`;
}
