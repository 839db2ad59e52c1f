import { BESIDE_SUFFIX, MANIFEST_NAME } from '../store/layout.ts';

export type CheckpointKind = 'directory' | 'files';

/** Where the manifest of a checkpoint lies below a prefix: the same place as in the folder of the run. */
export function manifestKey(name: string, kind: CheckpointKind): string {
  return kind === 'directory' ? `${name}/${MANIFEST_NAME}` : `${name}${BESIDE_SUFFIX}`;
}

export function fileKey(name: string, kind: CheckpointKind, path: string): string {
  return kind === 'directory' ? `${name}/${path}` : path;
}
