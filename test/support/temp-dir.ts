import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TempDir extends AsyncDisposable {
  readonly path: string;
}

/** An empty folder that goes away with its scope: `await using dir = await tempDir()`. */
export async function tempDir(): Promise<TempDir> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-test-')));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
