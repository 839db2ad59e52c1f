import { at, type Fields, fieldsOf, listAt, textAt } from '../../kube/objects/fields.ts';

/** A folder of a training container, and what makes it the same folder in other pods. */
export interface Folder {
  readonly path: string;
  /** Equal for two pods that see the same files there; null: only this pod sees them. */
  readonly shared: string | null;
}

/** A mount that the container can write to, with its volume. */
interface Mount {
  readonly path: string;
  readonly volume: Fields;
  /** What of the volume is mounted; null: a part that differs from pod to pod. */
  readonly subPath: string | null;
}

const LONGEST = 1024;

/** Whether a text is an absolute path to one folder, written in the one way that it can be. */
export function isPlainPath(text: string): boolean {
  const parts = text.split('/').slice(1);
  // oxlint-disable-next-line no-control-regex -- control characters are what it refuses
  if (!text.startsWith('/') || text.length > LONGEST || /[\0-\x1f\x7f]/.test(text)) return false;
  return parts.every((part) => part !== '' && part !== '.' && part !== '..');
}

/** A folder that the user named. */
export function namedFolder(spec: unknown, container: unknown, path: string): Folder {
  const holding = mountsOf(spec, container)
    .filter((mount) => path === mount.path || path.startsWith(mount.path === '/' ? '/' : `${mount.path}/`))
    .toSorted((a, b) => b.path.length - a.path.length)[0];
  return { path, shared: holding === undefined ? null : identity(holding, path.slice(holding.path.length)) };
}

/** The folder below each mount of a volume that outlives the pod, wherever the next pod runs. */
export function foldersOnVolumes(spec: unknown, container: unknown, below: string): readonly Folder[] {
  return mountsOf(spec, container)
    .filter(({ volume }) => isPersistent(volume))
    .map((mount) => ({ path: `${mount.path === '/' ? '' : mount.path}/${below}`, shared: identity(mount, `/${below}`) }));
}

function mountsOf(spec: unknown, container: unknown): readonly Mount[] {
  const volumes = new Map(listAt(spec, 'volumes').map((volume) => [textAt(volume, 'name'), fieldsOf(volume)]));
  return listAt(container, 'volumeMounts').flatMap((mount) => {
    const volume = volumes.get(textAt(mount, 'name'));
    const path = textAt(mount, 'mountPath');
    if (volume === undefined || path === null || at(mount, 'readOnly') === true) return [];
    const subPath = textAt(mount, 'subPathExpr') === null ? (textAt(mount, 'subPath') ?? '') : null;
    return [{ path: path.length > 1 ? path.replace(/\/+$/, '') : path, volume, subPath }];
  });
}

function isPersistent(volume: Fields): boolean {
  const source = ['persistentVolumeClaim', 'nfs', 'azureFile'].map((kind) => volume[kind]).find((each) => each !== undefined);
  return source !== undefined && at(source, 'readOnly') !== true;
}

function identity({ volume, subPath }: Mount, rest: string): string | null {
  const source = sourceOf(volume);
  return source === null || subPath === null ? null : `${source} ${`/${subPath}${rest}`.replaceAll(/\/+/g, '/')}`;
}

/** What two pods mount alike; null: the volume belongs to its pod. */
function sourceOf(volume: Fields): string | null {
  const text = (...path: readonly string[]): string => textAt(volume, ...path) ?? '';
  if (volume['persistentVolumeClaim'] !== undefined) return `claim ${text('persistentVolumeClaim', 'claimName')}`;
  if (volume['nfs'] !== undefined) return `nfs ${text('nfs', 'server')} ${text('nfs', 'path')}`;
  if (volume['azureFile'] !== undefined) return `azureFile ${text('azureFile', 'secretName')} ${text('azureFile', 'shareName')}`;
  // A user who names a folder on one says that all nodes see the same files there.
  return volume['hostPath'] === undefined ? null : `hostPath ${text('hostPath', 'path')}`;
}
