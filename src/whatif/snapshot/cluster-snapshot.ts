import { at, listAt, textAt, textsAt } from '../../kube/objects/fields.ts';
import type { KubeObject } from '../../kube/objects/object.ts';

/** A kind that was not read, or not all of it. */
export interface LeftOut {
  readonly resource: string;
  readonly reason: string;
}

/**
 * The last object of a snapshot: where and when it was made, and what it does not hold. A snapshot
 * that was cut off has none.
 */
export interface ClusterSnapshot {
  readonly context: string;
  readonly takenMs: number | null;
  readonly serverVersion: string | null;
  /** Plural and API group of the kinds that the cluster does not have. */
  readonly notInstalled: readonly string[];
  /** What the cluster has and the snapshot does not: no permission, or too many objects. */
  readonly leftOut: readonly LeftOut[];
}

const KIND = 'ClusterSnapshot';
/** The API group of Holdfast’s own kinds. */
export const OWN_GROUP = 'holdfast.dev';

/** The snapshot as an object for a list. */
export function snapshotObject({ context, takenMs, serverVersion, notInstalled, leftOut }: ClusterSnapshot): unknown {
  return {
    apiVersion: `${OWN_GROUP}/v1alpha1`,
    kind: KIND,
    metadata: { name: context, creationTimestamp: takenMs === null ? null : new Date(takenMs).toISOString() },
    spec: { serverVersion, notInstalled, leftOut },
  };
}

/** The snapshots among objects. */
export function snapshotsIn(objects: readonly KubeObject[]): readonly ClusterSnapshot[] {
  return objects.filter(({ kind }) => kind === KIND).map(snapshotOf);
}

function snapshotOf({ name, createdMs, fields }: KubeObject): ClusterSnapshot {
  const spec = at(fields, 'spec');
  return {
    context: name,
    takenMs: createdMs,
    serverVersion: textAt(spec, 'serverVersion'),
    notInstalled: textsAt(spec, 'notInstalled'),
    leftOut: listAt(spec, 'leftOut').map((each) => ({
      resource: textAt(each, 'resource') ?? 'unknown',
      reason: textAt(each, 'reason') ?? '',
    })),
  };
}
