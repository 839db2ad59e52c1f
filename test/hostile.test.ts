import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyPaths } from '../src/verify/verify.ts';
import type { Attack } from './support/hostile/attack.ts';
import { GGUF_ATTACKS, MSGPACK_ATTACKS, NUMPY_ATTACKS } from './support/hostile/binaries.ts';
import { OCDBT_ATTACKS, TENSORFLOW_ATTACKS } from './support/hostile/databases.ts';
import { JSON_ATTACKS, MANIFEST_ATTACKS, SAFETENSORS_ATTACKS } from './support/hostile/documents.ts';
import { HDF5_ATTACKS } from './support/hostile/hdf5-files.ts';
import { PICKLE_ATTACKS } from './support/hostile/pickles.ts';
import { type Assault, hostileFolder, runAttacks, writeAttacks } from './support/hostile/run-attacks.ts';
import { TRAINING_ATTACKS } from './support/hostile/training-folders.ts';
import { TREE_ATTACKS } from './support/hostile/trees.ts';
import { UNSAFE_PICKLES } from './support/hostile/unsafe-pickles.ts';
import { ZIP_ATTACKS } from './support/hostile/zips.ts';
import { runCommand } from './support/run-command.ts';

/**
 * Checkpoints come from strangers. Verify needs bounded time and 256 MB, reads nothing outside the
 * root, prints no control characters, and always gives a verdict.
 */
const MOST_BYTES = 256e6;
/** Characters that control a terminal; a report contains only newlines of this kind. */
const OBEYED = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

const GROUPS: Readonly<Record<string, readonly Attack[]>> = {
  pickles: PICKLE_ATTACKS,
  archives: ZIP_ATTACKS,
  'folders and names': TREE_ATTACKS,
  'safetensors headers': SAFETENSORS_ATTACKS,
  'JSON documents': JSON_ATTACKS,
  'YAML manifests': MANIFEST_ATTACKS,
  'GGUF files': GGUF_ATTACKS,
  'msgpack files': MSGPACK_ATTACKS,
  'NumPy files': NUMPY_ATTACKS,
  'OCDBT databases': OCDBT_ATTACKS,
  'TensorFlow indexes': TENSORFLOW_ATTACKS,
  'HDF5 files': HDF5_ATTACKS,
  'training folders': TRAINING_ATTACKS,
  'unsafe pickles': UNSAFE_PICKLES,
};

/** Attacks of a group that can share a process have the same options. */
const BATCHES = Object.entries(GROUPS).flatMap(([group, attacks]) =>
  [...Map.groupBy(attacks, ({ name, isAlone, options }) => (isAlone ? name : (options ?? []).join(' ')))].map(([what, batch]) => ({
    name: what === '' ? group : `${group} (${what})`,
    attacks: batch,
  })),
);

const folder = hostileFolder();
const assaults = new Map<string, Assault>();

beforeAll(async () => {
  const pending = BATCHES.map(({ name, attacks }, index) => {
    const below = join(folder.path, String(index));
    mkdirSync(below);
    return { name, attacks, paths: writeAttacks(attacks, below) };
  });
  const worker = async (): Promise<void> => {
    for (let batch = pending.shift(); batch !== undefined; batch = pending.shift()) {
      assaults.set(batch.name, await runAttacks(batch.attacks, batch.paths));
    }
  };
  await Promise.all([worker(), worker()]);
});

afterAll(() => folder[Symbol.dispose]());

describe.each(BATCHES)('$name', ({ name, attacks }) => {
  it('are verified to the end, in bounded memory, without output on standard error', () => {
    const { run } = assaults.get(name) as Assault;
    expect(run.code, run.stderr).not.toBeNull();
    expect(run.stderr).toBe('');
    expect(run.peakBytes).toBeLessThanOrEqual(MOST_BYTES);
    expect(OBEYED.exec(run.stdout)?.[0]).toBeUndefined();
    expect(run.stdout).not.toContain('READER_FAILED');
  });

  it.each(attacks.map((attack, index) => ({ name: attack.name, index })))('$name', ({ index }) => {
    const outcome = (assaults.get(name) as Assault).outcomes[index];
    expect(outcome?.codes).toEqual(expect.arrayContaining([...(outcome?.attack.codes ?? [])]));
    expect(outcome?.exit).toBe(outcome?.attack.exit);
  });
});

describe('the output for people', () => {
  it('shows the names of hostile files without obeying them', async () => {
    const batch = BATCHES.findIndex(({ name }) => name === 'folders and names');
    const index = (BATCHES[batch]?.attacks ?? []).findIndex(({ name }) => name.includes('terminal'));
    const path = join(folder.path, String(batch), `${String(index).padStart(3, '0')}.pt`);
    for (const options of [[], ['--quiet'], ['--last-good'], ['--json', '--last-good']]) {
      const { stdout, stderr } = await runCommand(['verify', ...options, path]);
      expect(OBEYED.exec(stdout + stderr)?.[0]).toBeUndefined();
    }
  });
});

describe('a folder that changes during verify', () => {
  const levels = ['quick', 'deep'] as const;

  it.each(levels)('loses a file between listing and reading (%s)', async (level) => {
    await changing(level, (path) => rmSync(path));
  });

  it.each(levels)('has a file cut between listing and reading (%s)', async (level) => {
    await changing(level, (path) => truncateSync(path, 5));
  });

  it.each(levels)('has a file replaced by a link to somewhere else (%s)', async (level) => {
    await changing(level, (path) => {
      rmSync(path);
      symlinkSync('/etc/passwd', path);
    });
  });

  /**
   * Changes a file of a trainer's checkpoint at the start of its inspection, and expects a bad
   * verdict.
   */
  async function changing(level: (typeof levels)[number], change: (path: string) => void): Promise<void> {
    using run = hostileFolder();
    const path = join(run.path, 'checkpoint-5');
    mkdirSync(path);
    writeFileSync(join(path, 'trainer_state.json'), '{"global_step": 5}');
    writeFileSync(join(path, 'model.safetensors'), Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{}')]));
    const report = await verifyPaths([path], {
      level,
      signal: new AbortController().signal,
      onProgress: ({ phase }) => phase === 'inspect' && change(join(path, 'model.safetensors')),
    });
    const [checkpoint] = report.paths[0]?.checkpoints ?? [];
    expect(['PARTIAL', 'CORRUPT', 'IN_PROGRESS', 'UNKNOWN']).toContain(checkpoint?.verdict);
    expect(checkpoint?.evidence.map(({ code }) => code)).not.toContain('READER_FAILED');
  }
});

it('a socket in place of a file is reported and never opened', async () => {
  using run = hostileFolder();
  const path = join(run.path, 'checkpoint-5');
  mkdirSync(path);
  writeFileSync(join(path, 'trainer_state.json'), '{"global_step": 5}');
  const server = createServer(() => expect.unreachable('somebody connected'));
  await new Promise<void>((resolve) => server.listen(join(path, 'optimizer.pt'), resolve));
  const { code, stdout } = await runCommand(['verify', '--json', path]);
  await new Promise((resolve) => server.close(resolve));
  expect(code).toBe(1);
  expect(stdout).toContain('FILE_NOT_REGULAR');
});
