import type { Findings } from '../reading/findings.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { parseArrayKey } from '../encodings/zarr/chunk-key.ts';
import type { ArrayStore } from './array-store.ts';

/** A folder of an item that holds no arrays. */
const ARRAY_METADATA = 'array_metadatas';

/**
 * Reads the arrays of an item that are stored as plain files: a folder for each, with its
 * description and its chunks.
 */
export function inspectArrayFolders(item: Directory, store: ArrayStore, of: { findings: Findings; version: 2 | 3 }): void {
  addFiles(item, '', { ...of, store, depth: 0 });
}

interface Below {
  readonly store: ArrayStore;
  readonly findings: Findings;
  readonly version: 2 | 3;
  readonly depth: number;
}

function addFiles(folder: Directory, key: string, of: Below): void {
  const { store, findings, version, depth } = of;
  for (const { name, kind } of folder.entries.values()) {
    const path = key + name;
    if (kind === 'directory') {
      const child = depth < LIMITS.treeDepth && path !== ARRAY_METADATA ? folder.directory(name) : null;
      if (child !== null) addFiles(child, `${path}/`, { ...of, depth: depth + 1 });
      continue;
    }
    const parsed = parseArrayKey(path, version);
    if (parsed === null) continue;
    const source = folder.open(name);
    if (parsed.kind === 'metadata') store.addMetadata(parsed.array, source);
    else {
      findings.payloadBytes += source.size;
      store.addChunk(parsed.array, parsed.at, { source, isVouched: false });
    }
  }
}
