import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../../test/support/temp-folder.ts';
import { dropStageFolder, findStageFolder, makeStageFolder, type StageFolder } from './stage-folder.ts';
import type { StageWish } from '../../settings/run-options.ts';

const MEMORY = '/dev/shm';
const named = (path: string, from: 'option' | 'environment' = 'option'): StageWish => ({ kind: 'folder', path, from });

describe('the folder in memory', () => {
  it.skipIf(!existsSync(MEMORY))('belongs to one run folder, and a copy of the run elsewhere gets another', () => {
    using folder = tempFolder();
    const [a, b] = ['a', 'b'].map((name) => join(folder.path, name)) as [string, string];
    for (const path of [a, b]) mkdirSync(path);
    const find = (path: string, run: string): string | undefined => findStageFolder(named(MEMORY), { run, path })?.path;
    expect(find(a, 'x')).toMatch(/^\/dev\/shm\/holdfast-[0-9a-f]{24}$/);
    expect(new Set([find(a, 'x'), find(b, 'x'), find(a, 'y')]).size).toBe(3);
    expect(find(a, 'x')).toBe(find(a, 'x'));
  });

  it('is null when staging is off', () => {
    expect(findStageFolder({ kind: 'off' }, { run: 'x', path: '/' })).toBeNull();
  });

  it.each([
    [named('/proc'), 'USAGE', 'option --stage: /proc does not lie in memory (tmpfs)'],
    [named('/proc/version'), 'USAGE', 'option --stage: /proc/version is not a folder'],
    [named('/not/there', 'environment'), 'SETTING_INVALID', 'HOLDFAST_STAGE: /not/there cannot be used: ENOENT'],
  ])('is refused when the named place is not one: %j', (wish, code, message) => {
    expect(() => findStageFolder(wish, { run: 'x', path: '/' })).toThrow(expect.objectContaining({ code, message }) as Error);
  });

  it('is private, and is removed when it is empty', () => {
    using folder = tempFolder();
    const stage: StageFolder = { parent: folder.path, path: join(folder.path, 'stage'), isShared: true };
    makeStageFolder(stage);
    makeStageFolder(stage);
    expect(statSync(stage.path).mode & 0o777).toBe(0o700);
    mkdirSync(join(stage.path, 'image'));
    dropStageFolder(stage);
    expect(existsSync(stage.path)).toBe(true);
  });

  it('is not used when another user could have filled it', () => {
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
