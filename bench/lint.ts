import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureProcess } from './support/process.ts';
import type { Suite } from './support/suite.ts';

const ROOT = join(import.meta.dirname, '..');
const HOLDFAST = join(ROOT, 'bin', 'holdfast');
const CORPUS = join(ROOT, 'test/fixtures/lint');

const OBJECTS = 12_000;
const SCRIPTS = 1500;

/**
 * The corpus' manifests many times over, with other objects that share a cluster with trainings.
 */
export async function lintManifests(): Promise<Suite> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const documents = globSync(`${CORPUS}/{healthy,troubled}/*.yaml`)
    .sort()
    .flatMap((path) => readFileSync(path, 'utf8').split(/^---$/m));
  for (let file = 0; file * 100 < OBJECTS; file++) {
    const own = Array.from({ length: 100 }, (_, index) => documents[(file * 100 + index) % documents.length] ?? '');
    writeFileSync(join(folder, `${file}.yaml`), own.join('---\n'));
  }
  return {
    name: 'lint, 12,000 manifest objects',
    description:
      'The manifests of the test corpus (Jobs, CronJobs, PyTorchJobs, Deployments, classes, claims) over and over, 100 a file, half of them with findings. As a process, start-up included. Warm caches. The reference reads the files with `node`.',
    rounds: 5,
    reference: 'read the files',
    bytes: 0,
    variants: [
      { name: 'read the files', run: () => measureProcess([process.execPath, '-e', READ, folder]) },
      { name: 'holdfast lint', run: () => measureProcess([HOLDFAST, 'lint', '-q', folder], [1]) },
    ],
    bounds: [
      { text: 'at least 3,000 objects/s', isMet: (results) => OBJECTS / (results.get('holdfast lint')?.seconds.median ?? 99) >= 3000 },
    ],
    dispose: () => rmSync(folder, { recursive: true }),
  };
}

/** The corpus' scripts and the examples many times over, each followed by ordinary code. */
export async function lintScripts(): Promise<Suite> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const scripts = globSync([`${CORPUS}/*/*.py`, `${ROOT}/examples/*/train.py`, `${ROOT}/python/holdfast/*.py`]).sort();
  mkdirSync(join(folder, 'scripts'));
  for (let file = 0; file < SCRIPTS; file++) {
    writeFileSync(join(folder, 'scripts', `${file}.py`), `import torch\n${readFileSync(scripts[file % scripts.length] ?? '', 'utf8')}`);
  }
  return {
    name: 'lint, 1,500 Python files',
    description:
      'Training scripts of the test corpus and the modules of the SDK over and over, all of which are parsed. As a process, start-up included. Warm caches. The reference reads the files with `node`.',
    rounds: 5,
    reference: 'read the files',
    bytes: 0,
    variants: [
      { name: 'read the files', run: () => measureProcess([process.execPath, '-e', READ, join(folder, 'scripts')]) },
      { name: 'holdfast lint', run: () => measureProcess([HOLDFAST, 'lint', '-q', folder], [1]) },
    ],
    bounds: [{ text: 'at least 200 files/s', isMet: (results) => SCRIPTS / (results.get('holdfast lint')?.seconds.median ?? 99) >= 200 }],
    dispose: () => rmSync(folder, { recursive: true }),
  };
}

const READ = `
  const fs = require('node:fs'), path = require('node:path'), folder = process.argv[1];
  for (const name of fs.readdirSync(folder)) fs.readFileSync(path.join(folder, name), 'utf8');`;
