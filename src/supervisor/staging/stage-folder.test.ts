import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { dropStageFolder, findStageFolder, makeStageFolder, type StageFolder, type StageWish } from './stage-folder.ts';

const MEMORY = '/dev/shm';
const named = (path: string, from: 'option' | 'environment' = 'option'): StageWish => ({ kind: 'folder', path, from });

describe('the folder in memory', () => {
  it.skipIf(!existsSync(MEMORY))('is one of the run’s own, also where a copy of the run lies elsewhere', () => {
    using folder = tempFolder();
    const [a, b] = ['a', 'b'].map((name) => join(folder.path, name)) as [string, string];
    for (const path of [a, b]) mkdirSync(path);
    const find = (path: string, run: string): string | undefined => findStageFolder(named(MEMORY), { run, path })?.path;
    expect(find(a, 'x')).toMatch(/^\/dev\/shm\/holdfast-[0-9a-f]{24}$/);
    expect(new Set([find(a, 'x'), find(b, 'x'), find(a, 'y')]).size).toBe(3);
    expect(find(a, 'x')).toBe(find(a, 'x'));
  });

  it('is none when none is wanted', () => {
    expect(findStageFolder({ kind: 'off' }, { run: 'x', path: '/' })).toBeNull();
  });

  it.each([
    [named('/proc'), 'USAGE', 'option --stage: /proc does not lie in memory (tmpfs)'],
    [named('/proc/version'), 'USAGE', 'option --stage: /proc/version is not a folder'],
    [named('/not/there', 'environment'), 'SETTING_INVALID', 'HOLDFAST_STAGE: /not/there cannot be used: ENOENT'],
  ])('that is named must be one: %j', (wish, code, message) => {
    expect(() => findStageFolder(wish, { run: 'x', path: '/' })).toThrow(expect.objectContaining({ code, message }) as Error);
  });

  it('is private, and goes when it is empty', () => {
    using folder = tempFolder();
    const stage: StageFolder = { parent: folder.path, path: join(folder.path, 'stage'), isShared: true };
    makeStageFolder(stage);
    makeStageFolder(stage);
    expect(statSync(stage.path).mode & 0o777).toBe(0o700);
    mkdirSync(join(stage.path, 'image'));
    dropStageFolder(stage);
    expect(existsSync(stage.path)).toBe(true);
  });

  it('is not used when somebody else could have filled it', () => {
    using folder = tempFolder();
    const stage: StageFolder = { parent: folder.path, path: join(folder.path, 'stage'), isShared: true };
    mkdirSync(join(folder.path, 'theirs'), { mode: 0o700 });
    symlinkSync(join(folder.path, 'theirs'), stage.path);
    expect(() => makeStageFolder(stage)).toThrow('is not a folder');
    const open: StageFolder = { ...stage, path: join(folder.path, 'open') };
    mkdirSync(open.path);
    chmodSync(open.path, 0o777);
    expect(() => makeStageFolder(open)).toThrow('can be entered by others');
  });
});
