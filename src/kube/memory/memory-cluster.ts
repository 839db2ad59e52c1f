import type { Clock } from '../../core/clock.ts';
import type { Rng } from '../../core/rng.ts';
import { type ApiObject, type Metadata, type NewObject, type ObjectKey, keyOf, keyText } from '../api/api-object.ts';
import { type Failure, type Outcome, succeeded } from '../api/outcome.ts';
import { type Resource, apiVersionOf, resourceName } from '../api/resource.ts';
import { timestamp } from '../api/timestamp.ts';
import { type Deletion, afterDeletion, isOver } from './after-deletion.ts';
import { isEqualJson } from './equal.ts';
import { deepFrozen } from './frozen.ts';
import { History } from './write-history.ts';
import { refusal, refusedFor } from './refusals.ts';
import type { StoredKind } from './stored-kind.ts';

/** What a cluster in memory is made from. */
export interface MemoryClusterOptions {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly kinds: readonly StoredKind[];
}

/** The objects of one kind. */
interface Shelf {
  readonly kind: StoredKind;
  readonly objects: Map<string, ApiObject>;
  readonly history: History;
}

/** What the API server makes names from: no vowels, so that no words come out. */
const SUFFIX = 'bcdfghjklmnpqrstvwxz2456789'.split('');

/**
 * The objects of a cluster in memory, with the rules of the API server: versions, conflicts,
 * generated names, graceful deletion, finalizers, status apart. Every method is one transaction.
 */
export class MemoryCluster {
  readonly #clock: Clock;
  readonly #rng: Rng;
  readonly #shelves = new Map<string, Shelf>();
  #version = 0;
  #uids = 0;

  constructor({ clock, rng, kinds }: MemoryClusterOptions) {
    this.#clock = clock;
    this.#rng = rng;
    for (const kind of kinds) this.install(kind);
  }

  /** The version of the newest write. */
  get version(): number {
    return this.#version;
  }

  get resources(): readonly Resource[] {
    return [...this.#shelves.values()].map(({ kind }) => kind.resource);
  }

  /** Serves one more kind. */
  install(kind: StoredKind): void {
    this.#shelves.set(resourceName(kind.resource), { kind, objects: new Map(), history: new History() });
  }

  /** Forgets all writes so far: older watches and lists must begin anew. */
  compact(): void {
    for (const { history } of this.#shelves.values()) history.compact(this.#version);
  }

  /** The writes of a kind; null: the kind is not installed. */
  historyOf(resource: Resource): History | null {
    return this.#shelves.get(resourceName(resource))?.history ?? null;
  }

  /** The objects of a kind, sorted by namespace and name. */
  all(resource: Resource): readonly ApiObject[] {
    const shelf = this.#shelves.get(resourceName(resource));
    return shelf === undefined ? [] : [...shelf.objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  get(resource: Resource, key: ObjectKey): Outcome<ApiObject> {
    const found = this.#find(resource, key);
    return 'ok' in found ? found : succeeded(found.object);
  }

  create(resource: Resource, given: NewObject): Outcome<ApiObject> {
    const shelf = this.#shelves.get(resourceName(resource));
    if (shelf === undefined) return kindMissing(resource);
    const object = shelf.kind.defaults?.(given) ?? given;
    const broken = this.#rule(shelf, object);
    if (broken !== null) return refusal('invalid', `${resourceName(resource)} is invalid: ${broken}`);
    const key = { namespace: object.metadata.namespace ?? null, name: object.metadata.name ?? this.#generated(object) };
    if (shelf.objects.has(keyText(key))) return refusedFor('alreadyExists', resource, key, 'already exists');
    const { status, ...rest } = object;
    const metadata: Metadata = {
      ...object.metadata,
      name: key.name,
      uid: this.#uid(),
      resourceVersion: '0',
      generation: 1,
      creationTimestamp: timestamp(this.#clock.now()),
    };
    const initial = shelf.kind.isGraceful ? { status: { phase: 'Pending' } } : {};
    return succeeded(this.#write(shelf, null, { ...rest, ...(shelf.kind.hasStatus ? initial : { status }), metadata }));
  }

  /** Replaces an object, or its status alone. The metadata that a client cannot set is kept. */
  replace(resource: Resource, object: ApiObject, part: 'status' | 'rest'): Outcome<ApiObject> {
    const found = this.#find(resource, keyOf(object));
    if ('ok' in found) return found;
    const { shelf, object: stored } = found;
    if (object.metadata.uid !== stored.metadata.uid || object.metadata.resourceVersion !== stored.metadata.resourceVersion)
      return refusedFor('conflict', resource, keyOf(object), 'has been modified: read the latest version and try again');
    return this.#update(shelf, stored, part === 'status' ? { ...stored, status: object['status'] } : withFixed(shelf.kind, object, stored));
  }

  /** Deletes an object, or begins to. */
  delete(resource: Resource, key: ObjectKey, deletion: Deletion): Outcome<null> {
    const found = this.#find(resource, key);
    if ('ok' in found) return found;
    const { shelf, object: stored } = found;
    const { uid = stored.metadata.uid, resourceVersion = stored.metadata.resourceVersion } = deletion;
    if (uid !== stored.metadata.uid || resourceVersion !== stored.metadata.resourceVersion)
      return refusedFor('conflict', resource, key, 'is another one: a precondition of the deletion does not hold');
    const after = afterDeletion(stored, deletion, { isGraceful: shelf.kind.isGraceful, nowMs: this.#clock.now() });
    if (isOver(after)) this.#drop(shelf, after);
    else if (!isEqualJson(after, stored)) this.#write(shelf, stored, after);
    return succeeded(null);
  }

  #find(resource: Resource, key: ObjectKey): Failure | { readonly shelf: Shelf; readonly object: ApiObject } {
    const shelf = this.#shelves.get(resourceName(resource));
    if (shelf === undefined) return kindMissing(resource);
    const object = shelf.objects.get(keyText(key));
    return object === undefined ? refusedFor('notFound', resource, key, 'not found') : { shelf, object };
  }

  #update(shelf: Shelf, stored: ApiObject, given: ApiObject): Outcome<ApiObject> {
    const { resource } = shelf.kind;
    const next = deepFrozen(given);
    const broken = this.#rule(shelf, next) ?? newFinalizer(stored, next);
    if (broken !== null) return refusedFor('invalid', resource, keyOf(stored), `is invalid: ${broken}`);
    // A write that changes nothing makes no new version.
    if (isEqualJson(next, stored)) return succeeded(stored);
    if (isOver(next)) return succeeded(this.#drop(shelf, next));
    const isNewSpec = !isEqualJson(specOf(next), specOf(stored));
    const generation = (stored.metadata.generation ?? 0) + (isNewSpec ? 1 : 0);
    return succeeded(this.#write(shelf, stored, { ...next, metadata: { ...next.metadata, generation } }));
  }

  #rule({ kind }: Shelf, object: NewObject): string | null {
    const { resource } = kind;
    if (object.apiVersion !== apiVersionOf(resource) || object.kind !== resource.kind)
      return `apiVersion and kind must be ${apiVersionOf(resource)} ${resource.kind}`;
    if ((object.metadata.namespace !== undefined) !== resource.isNamespaced)
      return `metadata.namespace must ${resource.isNamespaced ? '' : 'not '}be given`;
    if (object.metadata.name === undefined && object.metadata.generateName === undefined) return 'metadata.name must be given';
    return kind.validate?.(object) ?? null;
  }

  #write(shelf: Shelf, before: ApiObject | null, next: ApiObject): ApiObject {
    const object = this.#versioned(next);
    shelf.objects.set(keyText(keyOf(object)), object);
    shelf.history.add({ version: this.#version, type: before === null ? 'added' : 'modified', object, before });
    return object;
  }

  #drop(shelf: Shelf, before: ApiObject): ApiObject {
    const object = this.#versioned(before);
    shelf.objects.delete(keyText(keyOf(object)));
    shelf.history.add({ version: this.#version, type: 'deleted', object, before });
    return object;
  }

  #versioned(object: ApiObject): ApiObject {
    this.#version += 1;
    return deepFrozen({ ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } });
  }

  #generated({ metadata }: NewObject): string {
    return `${metadata.generateName ?? ''}${Array.from({ length: 5 }, () => this.#rng.pick(SUFFIX)).join('')}`;
  }

  #uid(): string {
    this.#uids += 1;
    const random = this.#rng.integer(0, 0xffffffff).toString(16).padStart(8, '0');
    return `${random}-0000-4000-8000-${this.#uids.toString(16).padStart(12, '0')}`;
  }
}

/** The given object with what a client cannot change. */
function withFixed({ hasStatus }: StoredKind, given: ApiObject, stored: ApiObject): ApiObject {
  const { deletionTimestamp, deletionGracePeriodSeconds, generation, creationTimestamp, uid } = stored.metadata;
  const metadata: Metadata = {
    ...given.metadata,
    uid,
    creationTimestamp,
    ...(generation === undefined ? {} : { generation }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(deletionGracePeriodSeconds === undefined ? {} : { deletionGracePeriodSeconds }),
  };
  return hasStatus
    ? { ...given, metadata, ...('status' in stored ? { status: stored['status'] } : { status: undefined }) }
    : { ...given, metadata };
}

/** The rule that a new finalizer on an object under deletion breaks. */
function newFinalizer(stored: ApiObject, next: ApiObject): string | null {
  if (stored.metadata.deletionTimestamp === undefined) return null;
  const added = next.metadata.finalizers?.find((finalizer) => stored.metadata.finalizers?.includes(finalizer) !== true);
  return added === undefined ? null : `metadata.finalizers: no new finalizers can be added if the object is being deleted, found ${added}`;
}

/** What the generation counts: everything but the metadata and the status. */
function specOf(object: ApiObject): unknown {
  return { ...object, metadata: null, status: null };
}

function kindMissing(resource: Resource): Failure {
  return refusal('notFound', `the server has no ${resourceName(resource)}`);
}
