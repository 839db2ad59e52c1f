import { type DurableFs, realFs } from '../../src/checkpoint/store/durable-fs.ts';
import { MANIFEST_NAME } from '../../src/checkpoint/store/layout.ts';

/** The real file system, and which manifests were read through it. */
export function manifestsRead(): { readonly fs: DurableFs; readonly read: readonly string[] } {
  const read: string[] = [];
  const readFile = (path: string): Buffer => {
    if (path.endsWith(MANIFEST_NAME)) read.push(path);
    return realFs.readFile(path);
  };
  return { fs: { ...realFs, readFile }, read };
}
