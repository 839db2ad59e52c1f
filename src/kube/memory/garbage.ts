import { type ApiObject, keyOf } from '../api/api-object.ts';
import type { Resource } from '../api/resource.ts';
import { FOREGROUND, ORPHAN } from './after-deletion.ts';
import type { MemoryCluster } from './memory-cluster.ts';

interface Placed {
  readonly resource: Resource;
  readonly object: ApiObject;
}

/**
 * One pass of the garbage collector: objects whose owners are all gone are deleted, references to
 * owners that are gone are dropped, and the finalizers of a foreground or an orphaning deletion are
 * served. Whether anything was done: repeat until not.
 */
export function collectGarbage(cluster: MemoryCluster): boolean {
  const placed = cluster.resources.flatMap((resource) => cluster.all(resource).map((object): Placed => ({ resource, object })));
  const living = new Map(placed.map((one) => [one.object.metadata.uid, one.object]));
  const before = cluster.version;
  for (const one of placed) {
    if (hasFinalizer(one.object, ORPHAN)) orphan(cluster, one, placed);
    else if (hasFinalizer(one.object, FOREGROUND)) deleteForeground(cluster, one, placed);
    else followOwners(cluster, one, living);
  }
  return cluster.version !== before;
}

function followOwners(cluster: MemoryCluster, { resource, object }: Placed, living: ReadonlyMap<string, ApiObject>): void {
  const { ownerReferences = [], uid } = object.metadata;
  if (ownerReferences.length === 0) return;
  const left = ownerReferences.filter((owner) => living.has(owner.uid));
  if (left.length === 0) cluster.delete(resource, keyOf(object), { uid });
  else if (left.length < ownerReferences.length)
    cluster.replace(resource, { ...object, metadata: { ...object.metadata, ownerReferences: left } }, 'rest');
}

function orphan(cluster: MemoryCluster, owner: Placed, placed: readonly Placed[]): void {
  for (const { resource, object } of dependents(owner, placed)) {
    const ownerReferences = object.metadata.ownerReferences?.filter(({ uid }) => uid !== owner.object.metadata.uid) ?? [];
    cluster.replace(resource, { ...object, metadata: { ...object.metadata, ownerReferences } }, 'rest');
  }
  dropFinalizer(cluster, owner, ORPHAN);
}

function deleteForeground(cluster: MemoryCluster, owner: Placed, placed: readonly Placed[]): void {
  const left = dependents(owner, placed);
  for (const { resource, object } of left) cluster.delete(resource, keyOf(object), { uid: object.metadata.uid });
  const isBlocked = left.some(({ resource, object }) => {
    const stored = cluster.get(resource, keyOf(object));
    const isThere = stored.ok && stored.value.metadata.uid === object.metadata.uid;
    return (
      isThere && object.metadata.ownerReferences?.some((one) => one.uid === owner.object.metadata.uid && one.blockOwnerDeletion === true)
    );
  });
  if (!isBlocked) dropFinalizer(cluster, owner, FOREGROUND);
}

function dependents({ object: { metadata } }: Placed, placed: readonly Placed[]): readonly Placed[] {
  return placed.filter(({ object }) => object.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) === true);
}

function dropFinalizer(cluster: MemoryCluster, { resource, object }: Placed, finalizer: string): void {
  const stored = cluster.get(resource, keyOf(object));
  if (!stored.ok) return;
  const finalizers = stored.value.metadata.finalizers?.filter((other) => other !== finalizer) ?? [];
  cluster.replace(resource, { ...stored.value, metadata: { ...stored.value.metadata, finalizers } }, 'rest');
}

function hasFinalizer({ metadata }: ApiObject, finalizer: string): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(finalizer) === true;
}
