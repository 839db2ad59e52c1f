import { HoldfastError } from '../../core/errors.ts';
import { excerpt } from '../../core/printable.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import { Cluster } from '../../scheduler/cluster/cluster.ts';
import { type ClusterInput, clusterInputOf } from '../../scheduler/objects/cluster-input.ts';
import type { PodGroup } from '../../scheduler/objects/pod-group.ts';
import { type Gangs, findGangs } from '../gangs/find-gangs.ts';
import { Losses } from '../gangs/lost-work.ts';
import { snapshotsIn } from '../snapshot/cluster-snapshot.ts';
import { countRunning } from './count-running.ts';
import { inputNotes } from './input-notes.ts';
import { newestTime } from './newest-time.ts';
import type { Note } from './note.ts';
import { releaseOf } from './release-of.ts';

/** A cluster at one moment, as every question of `whatif` sees it. Nothing changes it. */
export interface World {
  readonly objects: readonly KubeObject[];
  readonly input: ClusterInput;
  readonly gangs: Gangs;
  readonly losses: Losses;
  readonly nowMs: number;
  readonly version: string;
  readonly notes: readonly Note[];
  /** The cluster as it is. Nothing may change it. */
  readonly before: Cluster;
  /** A cluster of its own for each caller, which may change it; with PodGroups that are new. */
  readonly cluster: (groups?: readonly PodGroup[]) => Cluster;
  /** The living pods of each owner, by the owner’s kind, namespace and name. */
  readonly running: ReadonlyMap<string, number>;
  /** Whether Holdfast’s operator is there: its kind is installed, or an object of it is. */
  readonly hasOperator: boolean;
}

/** Makes the world out of objects. `liveMs` is the present, for objects of a live cluster. */
export function worldOf(objects: readonly KubeObject[], liveMs: number | null): World {
  const snapshots = snapshotsIn(objects);
  refuseMixed(objects, snapshots.length);
  const [snapshot = null] = snapshots;
  const { release, version, notes } = releaseOf(objects, snapshot);
  const input = clusterInputOf(objects, release);
  const gangs = findGangs(objects);
  const takenMs = liveMs ?? snapshot?.takenMs ?? null;
  const nowMs = takenMs ?? newestTime(objects);
  const first = new Cluster(input);
  const hasRuns = objects.some(({ kind }) => kind === 'TrainingRun');
  return {
    objects,
    input,
    gangs,
    losses: new Losses(objects, nowMs),
    nowMs,
    version,
    notes: [
      ...notes,
      ...(takenMs === null
        ? [{ kind: 'assumed', text: `it is ${new Date(nowMs).toISOString()}, the newest time in the input` } as const]
        : []),
      ...inputNotes({ objects, input, gangs, snapshot, strays: first.strays.map(({ key }) => key) }),
    ],
    before: first,
    cluster: (groups) => first.copy(groups),
    running: countRunning(objects),
    hasOperator: hasRuns || (snapshot !== null && !snapshot.notInstalled.includes('trainingruns.holdfast.dev')),
  };
}

/** An answer about two clusters as if they were one would be wrong without looking wrong. */
function refuseMixed(objects: readonly KubeObject[], snapshots: number): void {
  const uids = new Map<string, string>();
  const twice = objects.find(({ kind, name, uid }) => {
    if ((kind !== 'Node' && kind !== 'Namespace') || uid === null) return false;
    const known = uids.get(`${kind}/${name}`);
    uids.set(`${kind}/${name}`, uid);
    return known !== undefined && known !== uid;
  });
  if (twice === undefined && snapshots <= 1) return;
  const found =
    twice === undefined
      ? `it holds ${snapshots} snapshots`
      : `${twice.kind.toLowerCase()}/${excerpt(twice.name, 80)} is in it with two uids`;
  throw new HoldfastError('CLUSTERS_MIXED', {
    message: `the input mixes two clusters, or two states of one: ${found}`,
    hint: 'Give one snapshot at a time: holdfast whatif snapshot > cluster.json',
  });
}
