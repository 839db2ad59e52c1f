import { type DurableFs, realFs } from '../../src/store/disk/durable-fs.ts';
import { MANIFEST_NAME } from '../../src/seal/names.ts';

/** The real file system, and a record of the manifests that were read through it. */
export function manifestsRead(): { readonly fs: DurableFs; readonly read: readonly string[] } {
  const read: string[] = [];
  const readFile = (path: string): Buffer => {
    if (path.endsWith(MANIFEST_NAME)) read.push(path);
    return realFs.readFile(path);
  };
  return { fs: { ...realFs, readFile }, read };
}
