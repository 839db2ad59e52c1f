/** The owner of an object. With the owner, the garbage collector deletes the object. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** The metadata that a writer may set. */
export interface NewMetadata {
  readonly name?: string;
  /** The API server appends five random characters; only without a name. */
  readonly generateName?: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

/** The metadata of a stored object. Times are RFC 3339 texts, as the API server writes them. */
export interface Metadata extends NewMetadata {
  readonly name: string;
  readonly uid: string;
  /** Changes with every write. Opaque: compare it for equality only. */
  readonly resourceVersion: string;
  /** Counts the changes of the spec. */
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
}

/**
 * An object as the API server stores it. Beyond the metadata nothing is known about its fields:
 * read them with `objects/fields.ts`. Objects are shared, so never change one: copy it.
 */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly [field: string]: unknown;
}

/** An object to create. */
export interface NewObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: NewMetadata;
  readonly [field: string]: unknown;
}

/** The place of an object among those of its kind. */
export interface ObjectKey {
  /** Null for a kind without namespaces. */
  readonly namespace: string | null;
  readonly name: string;
}

/** The key of a stored object. */
export function keyOf({ metadata }: ApiObject): ObjectKey {
  return { namespace: metadata.namespace ?? null, name: metadata.name };
}

/** `ml/train`, or `node-1` for a kind without namespaces. */
export function keyText({ namespace, name }: ObjectKey): string {
  return namespace === null ? name : `${namespace}/${name}`;
}

/** The key that {@link keyText} wrote. */
export function keyFromText(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash < 0 ? { namespace: null, name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

/** The owner that controls the object, or null. */
export function controllerReference({ metadata }: ApiObject): OwnerReference | null {
  return metadata.ownerReferences?.find(({ controller }) => controller === true) ?? null;
}
