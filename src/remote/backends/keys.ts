import { BESIDE_SUFFIX, MANIFEST_NAME } from '../../seal/names.ts';

/** How a checkpoint lies: a folder of its own, or files beside a manifest. */
export type CheckpointKind = 'directory' | 'files';

/** The key of a checkpoint's manifest below a prefix, the same path as in the folder of the run. */
export function manifestKey(name: string, kind: CheckpointKind): string {
  return kind === 'directory' ? `${name}/${MANIFEST_NAME}` : `${name}${BESIDE_SUFFIX}`;
}

/** The key of one file of a checkpoint below a prefix. */
export function fileKey(name: string, kind: CheckpointKind, path: string): string {
  return kind === 'directory' ? `${name}/${path}` : path;
}
