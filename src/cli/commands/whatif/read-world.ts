import type { Clock } from '../../../core/clock.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { printable } from '../../../core/printable.ts';
import type { DumpProblem } from '../../../kube/objects/dump-limits.ts';
import { type KubeObject, objectOf } from '../../../kube/objects/object.ts';
import { readDump } from '../../../kube/objects/read-dump.ts';
import { snapshotObject } from '../../../whatif/snapshot/cluster-snapshot.ts';
import { worldOf, type World } from '../../../whatif/world/world.ts';
import { problemLine, standardInput } from '../../cluster/read-state.ts';
import { snapshotCluster } from './snapshot-cluster.ts';
import type { Connection } from '../../../kube/client/connection.ts';

/** Which cluster is meant. */
export interface WorldSource {
  readonly snapshot: string | null;
  readonly kubeconfig: string | null;
  readonly context: string | null;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A cluster that was read, and what of it could not be. */
export interface ReadWorld {
  readonly world: World;
  /** For people: the file, or the context. */
  readonly from: string;
  /** The namespace of the context; `default` for a file. */
  readonly namespace: string;
  readonly problems: readonly DumpProblem[];
  /** To ask the live cluster more; null for a file. */
  readonly connection: Connection | null;
}

/** Reads the cluster that a question is about. */
export async function readWorld(source: WorldSource): Promise<ReadWorld> {
  return source.snapshot === null ? readLive(source) : readFile(source.snapshot, source.signal);
}

async function readFile(path: string, signal: AbortSignal): Promise<ReadWorld> {
  const { objects, problems } = readDump([path], path === '-' ? await standardInput(signal) : '');
  if (objects.length === 0) {
    const [first] = problems;
    throw new HoldfastError('DUMP_NOT_READABLE', {
      message: first === undefined ? `${printable(path)} holds no Kubernetes object` : problemLine(first),
      hint: 'holdfast whatif snapshot > cluster.json makes a file with everything that the answers need.',
    });
  }
  return { world: worldOf(objects, null), from: path === '-' ? 'standard input' : path, namespace: 'default', problems, connection: null };
}

async function readLive(source: WorldSource): Promise<ReadWorld> {
  const { openCluster } = await import('../../../kube/client/open-cluster.ts');
  const { connection, context, namespace } = await openCluster(source);
  const objects: KubeObject[] = [];
  const nowMs = source.clock.now();
  const snapshot = await snapshotCluster({ connection, context, nowMs, onObject: (object) => void objects.push(object) });
  const end = objectOf(snapshotObject(snapshot));
  if (end !== null) objects.push(end);
  const problems = snapshot.leftOut.map(({ resource, reason }) => ({
    source: `list ${resource}`,
    line: null,
    column: null,
    reason: `${reason}: the answer goes without`,
  }));
  return { world: worldOf(objects, nowMs), from: `context ${context}`, namespace, problems, connection };
}
