import { at, textAt } from '../../kube/objects/fields.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import type { SchedulerPod } from '../../scheduler/objects/pod.ts';
import { type Note, someOf } from './note.ts';

/**
 * Names the pods without a node that a volume may keep from some nodes, which no filter of ours
 * does.
 */
export function volumeNotes(objects: readonly KubeObject[], pods: readonly SchedulerPod[]): readonly Note[] {
  const asking = pods.filter(({ isOver, nodeName, claims }) => !isOver && nodeName === null && claims.length > 0);
  if (asking.length === 0) return [];
  const { late, tied } = tiedClaims(objects);
  const whom = (claims: ReadonlySet<string>): readonly string[] =>
    asking.filter((pod) => pod.claims.some((name) => claims.has(`${pod.namespace}/${name}`))).map(({ key }) => key);
  const kinds = [
    ['volumes that bind late', whom(late)],
    ['volumes that only some nodes reach', whom(tied)],
  ] as const;
  return kinds.flatMap(([what, keys]): readonly Note[] =>
    keys.length === 0 ? [] : [{ kind: 'not-modelled', text: `${what}: ${someOf(keys)} may be kept from a node by its volume` }],
  );
}

interface TiedClaims {
  /** Without a volume yet; their class binds them when a pod is placed. */
  readonly late: ReadonlySet<string>;
  /** Bound to a volume with a node affinity: a local disk, or the disk of a zone. */
  readonly tied: ReadonlySet<string>;
}

function tiedClaims(objects: readonly KubeObject[]): TiedClaims {
  const named = (kind: string, isSo: (object: KubeObject) => boolean): ReadonlySet<string> =>
    new Set(objects.filter((object) => object.kind === kind && isSo(object)).map(({ name }) => name));
  const lateClasses = named('StorageClass', ({ fields }) => at(fields, 'volumeBindingMode') === 'WaitForFirstConsumer');
  const tiedVolumes = named('PersistentVolume', ({ fields }) => at(fields, 'spec', 'nodeAffinity', 'required') !== undefined);
  const claims = (isSo: (volume: string | null, storageClass: string) => boolean): ReadonlySet<string> =>
    new Set(
      objects
        .filter(({ kind, fields }) => {
          if (kind !== 'PersistentVolumeClaim') return false;
          return isSo(textAt(fields, 'spec', 'volumeName'), textAt(fields, 'spec', 'storageClassName') ?? '');
        })
        .map(({ namespace, name }) => `${namespace ?? 'default'}/${name}`),
    );
  return {
    late: claims((volume, storageClass) => volume === null && lateClasses.has(storageClass)),
    tied: claims((volume) => volume !== null && tiedVolumes.has(volume)),
  };
}
