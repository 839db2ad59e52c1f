import { textAt } from '../../kube/objects/fields.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import { minorOf, type Release } from '../../scheduler/objects/release.ts';
import type { ClusterSnapshot } from '../snapshot/cluster-snapshot.ts';
import type { Note } from './note.ts';

/** The oldest and the newest release that the engine was compared with. */
const COMPARED = { oldest: 35, newest: 37 } as const;

/** The release whose rules an answer uses, and what of it is assumed. */
export interface ReleaseRead {
  readonly release: Release;
  /** `v1.35.8`, or `1.35 (assumed)`. */
  readonly version: string;
  readonly notes: readonly Note[];
}

/** Without any version in the input, the oldest rules that were compared count. */
export function releaseOf(objects: readonly KubeObject[], snapshot: ClusterSnapshot | null): ReleaseRead {
  const served = snapshot?.serverVersion ?? null;
  const version = served ?? newestKubelet(objects);
  const minor = version === null ? null : minorOf(version);
  const known = minor ?? COMPARED.oldest;
  const hasGroups = groupsServed(objects, snapshot);
  return {
    release: { minor: known, hasGroups },
    version: minor === null || version === null ? `1.${COMPARED.oldest} (assumed)` : version,
    notes: [...versionNotes(served, version, known), ...(known < FIRST_GROUPS ? [] : gateNotes(hasGroups, snapshot !== null))],
  };
}

/** The first release with a PodGroup of Kubernetes itself. */
const FIRST_GROUPS = 36;

function versionNotes(served: string | null, version: string | null, minor: number): readonly Note[] {
  const isCompared = minor >= COMPARED.oldest && minor <= COMPARED.newest;
  return [
    ...(version === null ? [assumed(`the cluster runs Kubernetes 1.${COMPARED.oldest}: no version is in the input`)] : []),
    ...(served === null && version !== null ? [assumed(`the control plane has the version of the newest kubelet, ${version}`)] : []),
    ...(isCompared
      ? []
      : [
          assumed(
            `the rules of 1.${COMPARED.oldest} to 1.${COMPARED.newest} hold for ${version ?? 'it'}, which Holdfast was not compared with`,
          ),
        ]),
  ];
}

/**
 * No API shows the scheduler’s gates. Without the API of PodGroups, the gate binds no pod at all.
 */
function gateNotes(hasGroups: boolean, isSnapshot: boolean): readonly Note[] {
  if (hasGroups) return [assumed('the scheduler’s gate GenericWorkload is on, because the cluster serves PodGroups of scheduling.k8s.io')];
  return isSnapshot ? [] : [assumed('the scheduler’s gate GenericWorkload is off, because the input has no PodGroup of scheduling.k8s.io')];
}

function groupsServed(objects: readonly KubeObject[], snapshot: ClusterSnapshot | null): boolean {
  if (objects.some(({ kind, apiVersion }) => kind === 'PodGroup' && apiVersion.startsWith('scheduling.k8s.io/'))) return true;
  return snapshot !== null && !snapshot.notInstalled.includes('podgroups.scheduling.k8s.io');
}

function newestKubelet(objects: readonly KubeObject[]): string | null {
  const versions = objects.flatMap(({ kind, fields }) =>
    kind === 'Node' ? (textAt(fields, 'status', 'nodeInfo', 'kubeletVersion') ?? []) : [],
  );
  return versions.toSorted((a, b) => (minorOf(b) ?? 0) - (minorOf(a) ?? 0))[0] ?? null;
}

function assumed(text: string): Note {
  return { kind: 'assumed', text };
}
