import type { ObjectKey } from '../api/api-object.ts';
import { keyText } from '../api/api-object.ts';
import type { Failure, FailureKind } from '../api/outcome.ts';
import { type Resource, resourceName } from '../api/resource.ts';

const STATUS: Readonly<Record<FailureKind, number>> = {
  notFound: 404,
  conflict: 409,
  alreadyExists: 409,
  gone: 410,
  forbidden: 403,
  invalid: 422,
  tooManyRequests: 429,
  unavailable: 503,
};

/** A refusal with the status that the API server uses for it. */
export function refusal(kind: FailureKind, message: string, retryAfterMs: number | null = null): Failure {
  return { ok: false, kind, message, status: STATUS[kind], retryAfterMs };
}

/** A refusal about one object: `pods "ml/a" not found`. */
export function refusedFor(kind: FailureKind, resource: Resource, key: ObjectKey, reason: string): Failure {
  return refusal(kind, `${resourceName(resource)} "${keyText(key)}" ${reason}`);
}
