import type { ApiObject, NewObject, ObjectKey } from '../api/api-object.ts';
import { numberAt, textAt } from '../objects/fields.ts';

/** How long a leader stays one without renewing, and how often candidates look. */
export interface LeaseTimes {
  /** A candidate takes a lease that did not change for this long. */
  readonly durationMs: number;
  /** A leader that could not renew for this long stops leading. Shorter than the duration. */
  readonly renewMs: number;
  readonly retryMs: number;
}

/** What Kubernetes’ own controllers use. */
export const LEASE_TIMES: LeaseTimes = { durationMs: 15_000, renewMs: 10_000, retryMs: 2_000 };

/** The fields of a Lease that an election reads. */
export interface LeaseRecord {
  /** Null: it was released. */
  readonly holder: string | null;
  readonly durationMs: number;
  readonly transitions: number;
  readonly acquiredAt: string | null;
}

/** What a Lease of the API server says; a missing field counts as Kubernetes takes it. */
export function leaseRecordOf(lease: ApiObject): LeaseRecord {
  return {
    holder: textAt(lease, 'spec', 'holderIdentity'),
    durationMs: (numberAt(lease, 'spec', 'leaseDurationSeconds') ?? LEASE_TIMES.durationMs / 1000) * 1000,
    transitions: numberAt(lease, 'spec', 'leaseTransitions') ?? 0,
    acquiredAt: textAt(lease, 'spec', 'acquireTime'),
  };
}

/** The spec of a lease that is held from now on, or still. */
export function heldSpec(
  identity: string,
  { nowMs, durationMs, before }: { readonly nowMs: number; readonly durationMs: number; readonly before: LeaseRecord | null },
): Readonly<Record<string, unknown>> {
  const isMine = before?.holder === identity;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: durationMs / 1000,
    acquireTime: (isMine ? before.acquiredAt : null) ?? microTime(nowMs),
    renewTime: microTime(nowMs),
    leaseTransitions: (before?.transitions ?? 0) + (before === null || isMine ? 0 : 1),
  };
}

/** The spec of a lease that is free: the next candidate need not wait. */
export function releasedSpec(before: LeaseRecord, nowMs: number): Readonly<Record<string, unknown>> {
  return {
    holderIdentity: '',
    leaseDurationSeconds: 1,
    acquireTime: microTime(nowMs),
    renewTime: microTime(nowMs),
    leaseTransitions: before.transitions,
  };
}

/** The object to create where there is no lease yet. */
export function newLease(key: ObjectKey, spec: Readonly<Record<string, unknown>>): NewObject {
  const { namespace, name } = key;
  const metadata = namespace === null ? { name } : { name, namespace };
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
}

function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
