import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealSteps, stagedSave, testRun } from '../../../test/support/sealed-run.ts';
import { commitSave } from './commit.ts';
import { realFs } from './durable-fs.ts';
import { bury, digGrave, emptyTrash } from './graves.ts';
import { processIdentity } from './process-identity.ts';
import { abandonSave, beginSave, writeReceipt } from './save.ts';
import { findSealed } from './roll-back.ts';
import type { OpenStore } from './store.ts';

const BOOT = 'boot-1';
const SELF = processIdentity(BOOT);
const VIEWPOINT = SELF?.split('.')[1];

const trashOf = ({ path }: OpenStore) => readdirSync(join(path, '.holdfast/trash'));

/** What this process sees of another that lives, or of one that has ended. */
function ownerOf(pid: number | undefined, began: string): string {
  return [BOOT, VIEWPOINT, pid, began].join('.');
}

function beginningOf(pid: number | undefined): string {
  return realFs.readFile(`/proc/${pid}/stat`).toString('latin1').split(' ')[21] ?? '';
}

describe.skipIf(SELF === null)('a grave', () => {
  it('of a process that is at work is left to it; of one that has ended, or that nobody can see, it is emptied', async () => {
    using run = testRun();
    const child = spawn('sleep', ['600'], { stdio: 'ignore' });
    try {
      const alive = ownerOf(child.pid, beginningOf(child.pid));
      const dead = ownerOf(spawnSync('true').pid, '1');
      for (const owner of [alive, dead, 'another-boot.1.1.1', null]) digGrave({ ...run.store, owner }, 'save', 'directory');
      mkdirSync(join(run.path, '.holdfast/trash/made-by-an-older-version'));
      emptyTrash(run.store);
      expect(trashOf(run.store)).toEqual([expect.stringContaining(alive)]);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('gives back a checkpoint that it was not dug for', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const grave = digGrave(run.store, 'the save that had this name before', 'directory');
    renameSync(join(run.path, 'step-2'), join(grave, 'step-2'));
    emptyTrash(run.store);
    expect(trashOf(run.store)).toEqual([]);
    expect(findSealed(run.store, 'step-2').manifest.step).toBe(2);
  });

  it('keeps what it was not dug for where its name is taken by now', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    const grave = digGrave(run.store, 'the save that had this name before', 'directory');
    renameSync(join(run.path, 'step-1'), join(grave, 'step-1'));
    mkdirSync(join(run.path, 'step-1'));
    emptyTrash(run.store);
    expect(existsSync(join(grave, 'step-1/holdfast.manifest.json'))).toBe(true);
  });

  it('is emptied only after the old names are gone for good', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    const { manifest } = findSealed(run.store, '1');
    renameSync(join(run.path, 'step-1'), join(digGrave(run.store, manifest.save, 'directory'), 'step-1'));
    rmSync(join(run.path, '.holdfast/trash', trashOf(run.store)[0] ?? '', 'step-1/shard-0'));
    const calls: string[] = [];
    const fs = {
      ...realFs,
      fsyncFolder: (path: string) => (calls.push(`sync ${path}`), realFs.fsyncFolder(path)),
      unlink: (path: string) => (calls.push('unlink'), realFs.unlink(path)),
    };
    emptyTrash({ ...run.store, fs });
    expect(calls).toEqual([`sync ${run.path}`, 'unlink']);
    expect(trashOf(run.store)).toEqual([]);
  });

  it('takes a folder in one step, and nothing is wrong when another was quicker', () => {
    using run = testRun();
    mkdirSync(join(run.path, 'folder'));
    bury(run.store, join(run.path, 'folder'));
    bury(run.store, join(run.path, 'folder'));
    expect(trashOf(run.store)).toEqual([]);
  });
});

describe.skipIf(SELF === null)('a save that is taken away', () => {
  /** Takes the save away at the first look at a file of it, as another process may. */
  function takenAt(store: OpenStore, take: () => void, pattern: RegExp): OpenStore {
    let isTaken = false;
    const fs = {
      ...realFs,
      stat(path: string) {
        if (!isTaken && pattern.test(path)) {
          isTaken = true;
          take();
        }
        return realFs.stat(path);
      },
    };
    return { ...store, fs };
  }

  it('because every owner is dead: who has joined it is told so, whatever it was about to do', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    const dead = { ...run.store, owner: ownerOf(spawnSync('true').pid, '1') };
    // This one leaves no mark, as if the sweep had looked just before it did.
    const joined = { ...run.store, owner: null };
    const gone = expect.objectContaining({ code: 'SAVE_INCOMPLETE', message: expect.stringContaining('given up') as unknown });
    const commit = await stagedSave(dead, attempt, { step: 2, save: 'a' });
    const committing = takenAt(joined, () => beginSave(run.store, attempt, { step: 9, worldSize: 1 }), /shard-0$/);
    expect(() => commitSave(committing, commit)).toThrow(gone);
    const receipt = await stagedSave(dead, attempt, { step: 3, save: 'b' });
    const writing = takenAt(joined, () => beginSave(run.store, attempt, { step: 9, worldSize: 1 }), /shard-0$/);
    await expect(writeReceipt(writing, receipt, { rank: 0, files: ['shard-0'] })).rejects.toEqual(gone);
    expect(trashOf(run.store)).toEqual([]);
  });

  it('because a rank gave it up: the others are told so', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    const save = await stagedSave(run.store, attempt, { step: 2, worldSize: 2 });
    const committing = takenAt(run.store, () => abandonSave(run.store, save), /shard-1$/);
    expect(() => commitSave(committing, save)).toThrow(expect.objectContaining({ code: 'SAVE_INCOMPLETE' }));
    expect(trashOf(run.store)).toEqual([]);
  });

  it('is not taken from a rank that comes when those before it have done their part and ended', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    await stagedSave({ ...run.store, owner: ownerOf(spawnSync('true').pid, '1') }, attempt, { step: 2, save: 'shared' });
    const save = beginSave(run.store, attempt, { step: 2, worldSize: 1, save: 'shared' });
    expect(commitSave(run.store, save).name).toBe('step-2');
  });
});
