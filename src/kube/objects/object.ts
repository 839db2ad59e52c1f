import { type Fields, at, fieldsOf, isFields, listAt, mapAt, numberAt, textAt, timeAt } from './fields.ts';

/** The owner of an object; the object is deleted with it. */
export interface Owner {
  readonly kind: string;
  readonly name: string;
  readonly uid: string | null;
  readonly isController: boolean;
}

/** An object of a cluster, of any kind: the common fields, and all fields as read. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Null: it has none, or the manifest leaves it to the client. */
  readonly namespace: string | null;
  readonly uid: string | null;
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: ReadonlyMap<string, string>;
  readonly owners: readonly Owner[];
  readonly createdMs: number | null;
  /** The deletionTimestamp: the time of the request plus the grace, as Kubernetes writes it. */
  readonly deletionMs: number | null;
  readonly deletionGraceSeconds: number | null;
  /** The number of changes of its spec; a deletion counts as well. */
  readonly generation: number | null;
  readonly fields: Fields;
}

/** The object in a document, or null if it has no kind or no name. */
export function objectOf(value: unknown): KubeObject | null {
  const kind = textAt(value, 'kind');
  const metadata = at(value, 'metadata');
  const name = textAt(metadata, 'name') ?? textAt(metadata, 'generateName');
  if (!isFields(value) || kind === null || name === null) return null;
  return {
    apiVersion: textAt(value, 'apiVersion') ?? '',
    kind,
    name,
    namespace: textAt(metadata, 'namespace'),
    uid: textAt(metadata, 'uid'),
    labels: mapAt(metadata, 'labels'),
    annotations: mapAt(metadata, 'annotations'),
    owners: listAt(metadata, 'ownerReferences').flatMap(ownerOf),
    createdMs: timeAt(metadata, 'creationTimestamp'),
    deletionMs: timeAt(metadata, 'deletionTimestamp'),
    deletionGraceSeconds: numberAt(metadata, 'deletionGracePeriodSeconds'),
    generation: numberAt(metadata, 'generation'),
    fields: fieldsOf(value),
  };
}

/** The owner that controls the object, or null. */
export function controllerOf({ owners }: KubeObject): Owner | null {
  return owners.find(({ isController }) => isController) ?? owners[0] ?? null;
}

/** `pod/train-0`, or `pod/train-0 in ml`. */
export function titleOf({ kind, name, namespace }: Pick<KubeObject, 'kind' | 'name' | 'namespace'>): string {
  return `${kind.toLowerCase()}/${name}${namespace === null ? '' : ` in ${namespace}`}`;
}

function ownerOf(value: unknown): readonly Owner[] {
  const [kind, name] = [textAt(value, 'kind'), textAt(value, 'name')];
  if (kind === null || name === null) return [];
  return [{ kind, name, uid: textAt(value, 'uid'), isController: at(value, 'controller') === true }];
}
