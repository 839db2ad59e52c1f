import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { adopt } from '../../src/store/adopt/adopt.ts';
import { MANIFEST_NAME, STORE_FOLDER } from '../../src/seal/names.ts';
import { readRun } from '../../src/store/folder/store.ts';
import { type Fixture, WHOLE } from './fixtures.ts';
import { verifyAll } from './fault-run.ts';

export interface SealedFixture {
  readonly fixture: Fixture;
  /** The copy of the fixture's folder. */
  readonly folder: string;
  /** The path for `verify` or the loader, in the copy. */
  readonly path: string;
  /** The folders of the resulting runs. */
  readonly runs: readonly string[];
  /** The sealed files, as absolute paths. */
  readonly files: readonly string[];
}

/**
 * Copies a fixture below `scratch` and seals every checkpoint in it, as a person would: the folders
 * that are checkpoints, or a folder's only file.
 */
export async function sealFixture(fixture: Fixture, scratch: string): Promise<SealedFixture> {
  const folder = join(scratch, fixture.id);
  cpSync(join(WHOLE, fixture.id), folder, { recursive: true, verbatimSymlinks: true });
  const path = join(folder, fixture.path);
  const files: string[] = [];
  const targets = await targetsIn(path);
  for (const target of targets) {
    const { manifest, manifestFile } = await adopt(readRun(dirname(target)), target, {
      // A folder may hold several checkpoints side by side as files, and weights may have no step.
      accept: 'anything',
      ...(fixture.step === null ? { step: 0 } : {}),
    });
    files.push(...manifest.files.map((file) => join(dirname(manifestFile), file.path)));
  }
  return { fixture, folder, path, runs: [...new Set(targets.map((target) => dirname(target)))], files };
}

async function targetsIn(path: string): Promise<readonly string[]> {
  const [report] = await verifyAll([path], 'quick');
  const targets = (report?.checkpoints ?? []).map(({ path: found, kind }) =>
    kind === 'directory' || kind === 'file' ? found : dirname(found),
  );
  return [...new Set(targets)];
}

/**
 * The files that the copy has and the fixture has not, without our records of the run. Throws when
 * a byte of the fixture changed.
 */
export function additions({ fixture, folder }: SealedFixture): readonly string[] {
  const filesBelow = (root: string) =>
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  const before = new Set(filesBelow(join(WHOLE, fixture.id)));
  const after = filesBelow(folder).filter((file) => !file.split('/').includes(STORE_FOLDER));
  for (const file of before) {
    if (!readFileSync(join(folder, file)).equals(readFileSync(join(WHOLE, fixture.id, file)))) throw new Error(`${file} was changed`);
  }
  return after.filter((file) => !before.has(file));
}

export function isManifest(file: string): boolean {
  return file.endsWith(`/${MANIFEST_NAME}`) || file.endsWith('.holdfast.json');
}
