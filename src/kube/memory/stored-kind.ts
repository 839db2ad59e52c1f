import type { NewObject } from '../api/api-object.ts';
import type { Resource } from '../api/resource.ts';

/** A kind that a cluster in memory serves. */
export interface StoredKind {
  readonly resource: Resource;
  /** The status is a subresource: a write reaches either the status or the rest. */
  readonly hasStatus: boolean;
  /** A deletion waits for a kubelet: a bound pod that has not ended keeps its name until then. */
  readonly isGraceful: boolean;
  /** The object with the defaults of its kind; null: as it is given. */
  readonly defaults: ((object: NewObject) => NewObject) | null;
  /** The rule that the object breaks, or null. */
  readonly validate: ((object: NewObject) => string | null) | null;
}

/** A kind without rules of its own. */
export function plainKind(resource: Resource, hasStatus = false): StoredKind {
  return { resource, hasStatus, isGraceful: false, defaults: null, validate: null };
}
