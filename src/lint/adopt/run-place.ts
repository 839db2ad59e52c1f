import type { Document, YAMLSeq } from 'yaml';
import { checkpointFolder, isRemote, mountOf, volumeOf, writableClaims } from '../manifest/facts.ts';
import { nameOf } from '../manifest/workload-names.ts';
import { textAt } from '../manifest/yaml-node.ts';
import type { Container, Workload } from '../manifest/workload.ts';
import { append, freeVolumeName, type Path } from './append.ts';

/** Where the container and the spec of the pod lie in the document. */
interface Where {
  readonly container: Path;
  readonly path: Path;
}

interface Wishes extends Where {
  readonly dir: string | null;
  readonly claim: string | null;
}

/** The options that say where the run is, and the claim that has to be made for it. */
export interface Place {
  readonly options: readonly string[];
  readonly claim: string | null;
  readonly notes: readonly string[];
}

/**
 * Where the run is kept: on the volume that the manifest has for checkpoints, else on a claim of
 * its own.
 */
export function placeOf(document: Document, workload: Workload, trainer: Container, wishes: Wishes): Place {
  const { dir } = wishes;
  if (dir !== null && mountOf(trainer, dir) !== null) return { options: [`--dir=${dir}`], claim: null, notes: [] };
  const folder = dir === null ? ownFolder(workload) : null;
  return folder === null ? runOnClaim(document, workload, wishes) : watchedFolder(document, workload, folder, wishes);
}

function ownFolder(workload: Workload): string | null {
  const path = checkpointFolder(workload)?.path ?? '';
  return path.startsWith('/') && !isRemote(path) && !path.includes('$') ? path : null;
}

/** The framework saves where it did, on a claim; what it saves there is sealed. */
function watchedFolder(document: Document, workload: Workload, folder: string, { claim, container, path }: Wishes): Place {
  const { trainer, pod, object, role } = workload;
  const notes = [`${nameOf({ object, role })}: what its framework saves in ${folder} is sealed (--watch); with the SDK use --dir instead.`];
  const options = [`--watch=${folder}`];
  const mount = trainer === null ? null : mountOf(trainer, folder);
  if (mount !== null && textAt(volumeOf(pod, mount.volume), 'persistentVolumeClaim', 'claimName') !== null)
    return { options, claim: null, notes };
  const chosen = claim ?? claimNameFor(object.name);
  if (mount === null) mountClaim(document, workload, { container, path }, { path: folder, claim: chosen });
  else replaceVolume(document, path, mount.volume, chosen);
  return { options, claim: claim === null ? chosen : null, notes };
}

function runOnClaim(document: Document, workload: Workload, { dir, claim, container, path }: Wishes): Place {
  const mounted = writableClaims(workload).find(({ mount }) => !/data|cache|dataset|input/i.test(mount.path));
  const chosen = claim ?? claimNameFor(workload.object.name);
  if (mounted === undefined) mountClaim(document, workload, { container, path }, { path: dir ?? '/runs', claim: chosen });
  const run = dir ?? `${mounted?.mount.path ?? '/runs'}/${runName(workload)}`;
  const note = `${nameOf(workload)}: the run is kept in ${run}; the trainer takes part through the SDK, or its framework's folder is watched with --watch.`;
  return { options: [`--dir=${run}`], claim: mounted === undefined && claim === null ? chosen : null, notes: [note] };
}

/** Each index of a sweep, and each Job of a CronJob, is a run of its own. */
function runName({ object, job, cron, isGang }: Workload): string {
  if (cron !== null) return '$(JOB_NAME)';
  const isSweep = textAt(job, 'completionMode') === 'Indexed' && !isGang;
  return `${object.name ?? 'run'}${isSweep ? '-$(JOB_COMPLETION_INDEX)' : ''}`;
}

function claimNameFor(name: string | null): string {
  return `${name ?? 'training'}-runs`;
}

function mountClaim(document: Document, workload: Workload, { container, path }: Where, mount: { path: string; claim: string }): void {
  const name = freeVolumeName(workload, 'runs');
  append(document, [...container, 'volumeMounts'], { name, mountPath: mount.path });
  append(document, [...path, 'volumes'], { name, persistentVolumeClaim: { claimName: mount.claim } });
}

function replaceVolume(document: Document, path: Path, name: string, claimName: string): void {
  const volumes = document.getIn([...path, 'volumes'], true) as YAMLSeq;
  const index = volumes.items.findIndex((volume) => (volume as { get(key: string): unknown }).get('name') === name);
  document.setIn([...path, 'volumes', index], document.createNode({ name, persistentVolumeClaim: { claimName } }));
}
