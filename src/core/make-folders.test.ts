import { existsSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { makeFolders, makeLastingFolders } from './make-folders.ts';

let folder: ReturnType<typeof tempFolder>;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(() => folder[Symbol.dispose]());

const codeOf = (path: string): string => {
  try {
    makeFolders(path);
    return 'made';
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code ?? '';
  }
};

describe('making folders', () => {
  it('makes missing folders with the mode and accepts existing ones', () => {
    const path = join(folder.path, 'a/b/c');
    makeFolders(path, 0o700);
    makeFolders(path);
    makeFolders('/');
    for (const part of ['a', 'a/b', 'a/b/c']) expect(statSync(join(folder.path, part)).mode & 0o777).toBe(0o700);
  });

  it('follows a link to a folder', () => {
    makeFolders(join(folder.path, 'real'));
    symlinkSync('real', join(folder.path, 'link'));
    makeFolders(join(folder.path, 'link/x'));
    makeFolders(join(folder.path, 'link'));
    expect(existsSync(join(folder.path, 'real/x'))).toBe(true);
  });

  it('fails when a file or a dangling link is in the way', () => {
    writeFileSync(join(folder.path, 'file'), '');
    symlinkSync('nothing', join(folder.path, 'dangling'));
    const codes = ['file', 'file/x', 'file/x/y', 'dangling', 'dangling/x/y'].map((name) => codeOf(join(folder.path, name)));
    expect(codes).toEqual(['EEXIST', 'ENOTDIR', 'ENOTDIR', 'EEXIST', 'EEXIST']);
  });

  it.skipIf(!existsSync('/proc/self'))('returns where no folder can be made', () => {
    expect(['/proc/holdfast', '/proc/holdfast/x/y'].map(codeOf)).toEqual(['ENOENT', 'ENOENT']);
  });

  it('durably syncs every folder in which it made another, and no other folder', () => {
    const synced: string[] = [];
    makeLastingFolders(join(folder.path, 'a/b/c'), (path) => synced.push(path));
    expect(synced).toEqual([join(folder.path, 'a/b'), join(folder.path, 'a'), folder.path]);
    makeLastingFolders(join(folder.path, 'a/b/c'), (path) => synced.push(path));
    expect(synced).toHaveLength(3);
    makeLastingFolders(join(folder.path, 'd'));
    expect(existsSync(join(folder.path, 'd'))).toBe(true);
  });
});
