import { HoldfastError } from '../../../core/errors.ts';
import { excerpt } from '../../../core/printable.ts';
import type { Connection } from '../../../kube/client/connection.ts';
import { listObjects } from '../../../kube/client/list-objects.ts';
import { textAt } from '../../../kube/objects/fields.ts';
import { DUMP_LIMITS } from '../../../kube/objects/dump-limits.ts';
import type { KubeObject } from '../../../kube/objects/object.ts';
import type { ClusterSnapshot, LeftOut } from '../../../whatif/snapshot/cluster-snapshot.ts';
import { SNAPSHOT_KINDS, type SnapshotKind } from '../../../whatif/snapshot/kinds.ts';
import { stripped } from '../../../whatif/snapshot/strip.ts';
import { resourceName } from '../../../whatif/world/input-notes.ts';

/** Where the objects of a snapshot go, and what is known about the cluster beside them. */
export interface SnapshotReading {
  readonly connection: Connection;
  readonly context: string;
  readonly nowMs: number;
  readonly onObject: (object: KubeObject) => void;
}

/**
 * Reads every kind that an answer needs, in all namespaces, a page at a time. Skips kinds that are
 * not installed, and records kinds that may not be listed. Sends GET requests only.
 */
export async function snapshotCluster({ connection, context, nowMs, onObject }: SnapshotReading): Promise<ClusterSnapshot> {
  const [notInstalled, leftOut]: [string[], LeftOut[]] = [[], []];
  let count = 0;
  // A file with more objects would not be read whole.
  const onPage = (page: readonly KubeObject[]): boolean => {
    for (const object of page.slice(0, DUMP_LIMITS.objects - 1 - count)) onObject(stripped(object));
    count += page.length;
    return count < DUMP_LIMITS.objects;
  };
  for (const kind of SNAPSHOT_KINDS) {
    const outcome = await readKind(connection, kind, onPage);
    const resource = resourceName(kind.plural, kind.groups[0] ?? '');
    if (outcome === 'not-installed') notInstalled.push(resource);
    else if (outcome !== 'listed') {
      if (kind.without === null) throw forbiddenKind(kind.plural, outcome.message);
      leftOut.push({ resource, reason: `may not list ${resource} in the cluster` });
    } else if (count >= DUMP_LIMITS.objects) leftOut.push({ resource, reason: `more than ${DUMP_LIMITS.objects} objects in all` });
  }
  return { context, takenMs: nowMs, serverVersion: await versionOf(connection), notInstalled, leftOut };
}

async function readKind(
  connection: Connection,
  { kind, plural, isNamespaced, groups }: SnapshotKind,
  onPage: (page: readonly KubeObject[]) => boolean,
): Promise<'listed' | 'not-installed' | { readonly message: string }> {
  for (const group of groups) {
    const listed = await listObjects(connection, { kind, plural, isNamespaced, group }, { namespace: null, onPage });
    if (listed.outcome === 'forbidden') return { message: listed.message };
    if (listed.outcome === 'listed') return 'listed';
  }
  return 'not-installed';
}

async function versionOf(connection: Connection): Promise<string | null> {
  const { status, body } = await connection.get('/version');
  if (status !== 200) return null;
  try {
    return textAt(JSON.parse(body) as unknown, 'gitVersion');
  } catch {
    return null;
  }
}

function forbiddenKind(plural: string, message: string): HoldfastError {
  return new HoldfastError('CLUSTER_FORBIDDEN', {
    message: `the user of the kubeconfig may not list ${plural} in the cluster: ${excerpt(message, 200)}`,
    hint: `\`kubectl auth can-i list ${plural} -A\` asks the same. whatif needs nodes and pods; it names what else it may not list, and answers without it.`,
  });
}
