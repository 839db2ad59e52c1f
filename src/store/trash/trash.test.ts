import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealSteps, stagedSave, testRun } from '../../../test/support/sealed-run.ts';
import { commitSave } from '../commit/commit.ts';
import { realFs } from '../disk/durable-fs.ts';
import { discardFolder, makeTrashEntry, emptyTrash } from './trash.ts';
import { processIdentity } from '../disk/process-identity.ts';
import { abandonSave, beginSave, writeReceipt } from '../commit/save.ts';
import { findSealed } from '../attempt/roll-back.ts';
import type { OpenStore } from '../folder/store.ts';

const BOOT = 'boot-1';
const SELF = processIdentity(BOOT);
const VIEWPOINT = SELF?.split('.')[1];

const trashOf = ({ path }: OpenStore) => readdirSync(join(path, '.holdfast/trash'));

/** The mark of another process as this one sees it, alive or dead. */
function ownerOf(pid: number | undefined, began: string): string {
  return [BOOT, VIEWPOINT, pid, began].join('.');
}

function beginningOf(pid: number | undefined): string {
  return realFs.readFile(`/proc/${pid}/stat`).toString('latin1').split(' ')[21] ?? '';
}

describe.skipIf(SELF === null)('a trash entry', () => {
  it('is left to its process while that runs, and is emptied when that process has ended or is invisible', async () => {
    using run = testRun();
    const child = spawn('sleep', ['600'], { stdio: 'ignore' });
    try {
      const alive = ownerOf(child.pid, beginningOf(child.pid));
      const dead = ownerOf(spawnSync('true').pid, '1');
      for (const owner of [alive, dead, 'another-boot.1.1.1', null]) makeTrashEntry({ ...run.store, owner }, 'save', 'directory');
      mkdirSync(join(run.path, '.holdfast/trash/made-by-an-older-version'));
      emptyTrash(run.store);
      expect(trashOf(run.store)).toEqual([expect.stringContaining(alive)]);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('restores a checkpoint that it was not made for', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const entry = makeTrashEntry(run.store, 'the save that had this name before', 'directory');
    renameSync(join(run.path, 'step-2'), join(entry, 'step-2'));
    emptyTrash(run.store);
    expect(trashOf(run.store)).toEqual([]);
    expect(findSealed(run.store, 'step-2').manifest.step).toBe(2);
  });

  it('keeps a checkpoint that it was not made for while its name is taken', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    const entry = makeTrashEntry(run.store, 'the save that had this name before', 'directory');
    renameSync(join(run.path, 'step-1'), join(entry, 'step-1'));
    mkdirSync(join(run.path, 'step-1'));
    emptyTrash(run.store);
    expect(existsSync(join(entry, 'step-1/holdfast.manifest.json'))).toBe(true);
  });

  it('is emptied only after the removal of the old names is durable', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    const { manifest } = findSealed(run.store, '1');
    renameSync(join(run.path, 'step-1'), join(makeTrashEntry(run.store, manifest.save, 'directory'), 'step-1'));
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

  it('takes a folder in one step, and tolerates that another process was quicker', () => {
    using run = testRun();
    mkdirSync(join(run.path, 'folder'));
    discardFolder(run.store, join(run.path, 'folder'));
    discardFolder(run.store, join(run.path, 'folder'));
    expect(trashOf(run.store)).toEqual([]);
  });
});

describe.skipIf(SELF === null)('a save in flight', () => {
  /**
   * A file system that removes the save at the first look at one of its files, as another process
   * may.
   */
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

  it('fails with the reason in a joined process when a sweep removes it because every owner is dead', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    const dead = { ...run.store, owner: ownerOf(spawnSync('true').pid, '1') };
    // The owner leaves no mark, as if the sweep ran just before it did.
    const joined = { ...run.store, owner: null };
    const gone = expect.objectContaining({ code: 'SAVE_INCOMPLETE', message: expect.stringContaining('abandoned') as unknown });
    const commit = await stagedSave(dead, attempt, { step: 2, save: 'a' });
    const committing = takenAt(joined, () => beginSave(run.store, attempt, { step: 9, worldSize: 1 }), /shard-0$/);
    expect(() => commitSave(committing, commit)).toThrow(gone);
    const receipt = await stagedSave(dead, attempt, { step: 3, save: 'b' });
    const writing = takenAt(joined, () => beginSave(run.store, attempt, { step: 9, worldSize: 1 }), /shard-0$/);
    await expect(writeReceipt(writing, receipt, { rank: 0, files: ['shard-0'] })).rejects.toEqual(gone);
    expect(trashOf(run.store)).toEqual([]);
  });

  it('fails with the reason in the other ranks when one rank aborts it', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    const save = await stagedSave(run.store, attempt, { step: 2, worldSize: 2 });
    const committing = takenAt(run.store, () => abandonSave(run.store, save), /shard-1$/);
    expect(() => commitSave(committing, save)).toThrow(expect.objectContaining({ code: 'SAVE_INCOMPLETE' }));
    expect(trashOf(run.store)).toEqual([]);
  });

  it('stays open to a late rank after the earlier ranks have finished and ended', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    await stagedSave({ ...run.store, owner: ownerOf(spawnSync('true').pid, '1') }, attempt, { step: 2, save: 'shared' });
    const save = beginSave(run.store, attempt, { step: 2, worldSize: 1, save: 'shared' });
    expect(commitSave(run.store, save).name).toBe('step-2');
  });
});
