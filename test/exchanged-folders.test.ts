import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, fstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Tree } from '../src/bytes/source/tree.ts';
import { openBeneath, openHandleBeneath } from '../src/core/beneath.ts';
import { systemCode } from '../src/core/errors.ts';
import { removeTree } from '../src/store/disk/delete-tree.ts';
import { fsBeneath } from '../src/store/disk/durable-fs.ts';
import { verifyPaths } from '../src/verify/verify.ts';
import { safetensorsFile } from './support/make-safetensors.ts';
import { tempFolder } from './support/temp-folder.ts';

/**
 * Exchanges a folder and a link that leads out of the root, in one step each, as fast as it can.
 */
const EXCHANGER = `
import ctypes, sys
libc = ctypes.CDLL(None)
a, b = (p.encode() for p in sys.argv[1:])
print('ready', flush=True)
while True:
    libc.renameat2(-100, a, -100, b, 2)
`;

const INSIDE = 64;
/** More than a folder itself takes. */
const OUTSIDE = 65_536;
const ROUNDS = 60;

/** The files of the checkpoint `step-1`, at three depths. */
const FILES = ['model.safetensors', 'deep/optimizer.bin', 'deep/deeper/scheduler.bin'];

describe.each(['step-1', 'step-1/deep', 'step-1/deep/deeper'])('while %s is exchanged for a link again and again', (place) => {
  const folder = tempFolder();
  const root = join(folder.path, 'root');
  const outside = join(folder.path, 'outside');
  let exchanger: ChildProcess;

  beforeAll(async () => {
    for (const [top, bytes] of [
      [join(root, 'step-1'), INSIDE],
      [outside, OUTSIDE],
    ] as const) {
      mkdirSync(join(top, 'deep/deeper'), { recursive: true });
      for (const name of FILES) writeFileSync(join(top, name), safetensorsFile({ w: bytes / 4 }));
    }
    symlinkSync(join(outside, relative('step-1', place)), join(root, 'link'));
    const child = spawn('python3', ['-c', EXCHANGER, join(root, place), join(root, 'link')], { stdio: ['ignore', 'pipe', 'inherit'] });
    exchanger = child;
    await once(child.stdout, 'data');
  });

  afterAll(() => {
    exchanger.kill('SIGKILL');
    folder[Symbol.dispose]();
  });

  it('verify never reports a file from outside', async () => {
    const { signal } = new AbortController();
    let seen = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const { paths } = await verifyPaths([root], { level: 'deep', signal, writers: () => new Map() });
      for (const { checkpoints } of paths) {
        seen += checkpoints.length;
        for (const { bytes, path } of checkpoints) expect(bytes, path).toBeLessThan(OUTSIDE);
      }
    }
    expect(seen).toBeGreaterThan(0);
  });

  it('a tree reads no byte from outside', () => {
    for (let round = 0; round < ROUNDS * 20; round++) {
      const tree = new Tree(root);
      try {
        for (const name of FILES) {
          const source = tree.root.directory(join('step-1', dirname(name)))?.open(basename(name));
          expect(source?.read(0, OUTSIDE).length ?? 0).toBeLessThan(OUTSIDE);
        }
      } catch (thrown) {
        expect(String(thrown)).toMatch(/SourceError/);
      } finally {
        tree.close();
      }
    }
  });

  it('the readers and the writers of a run open nothing outside', async () => {
    let opened = 0;
    // A busy machine may leave the link in place for many rounds.
    for (let round = 0; round < ROUNDS * 10 || (opened === 0 && round < ROUNDS * 10_000); round++) {
      for (const name of FILES) {
        try {
          const file = openBeneath(root, join('step-1', name), constants.O_RDONLY);
          expect(fstatSync(file).size).toBeLessThan(OUTSIDE);
          closeSync(file);
          const handle = await openHandleBeneath(root, join('step-1', name), constants.O_RDONLY);
          expect((await handle.stat()).size).toBeLessThan(OUTSIDE);
          await handle.close();
          opened++;
        } catch (thrown) {
          expect(systemCode(thrown)).toMatch(/^(?:ENOTDIR|ELOOP|ENOENT)$/);
        }
      }
    }
    expect(opened).toBeGreaterThan(0);
  });

  it('deleting a folder deletes nothing outside', () => {
    const fs = fsBeneath(root);
    for (let round = 0; round < ROUNDS; round++) {
      try {
        mkdirSync(join(root, place), { recursive: true });
        for (let name = 0; name < 20; name++) writeFileSync(join(root, place, `file-${name}`), '');
      } catch {
        // One of the two still has the name.
      }
      try {
        removeTree(fs, join(root, 'step-1'));
      } catch {
        // A folder had become a link, or already was one: nothing of it is deleted.
      }
    }
    expect(FILES.filter((name) => !existsSync(join(outside, name)))).toEqual([]);
  });
});
