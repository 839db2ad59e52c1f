import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { SourceError } from './source-error.ts';
import { openTree } from './tree.ts';

function codeOf(action: () => unknown): string | null {
  try {
    action();
    return null;
  } catch (thrown) {
    return thrown instanceof SourceError ? thrown.evidence : String(thrown);
  }
}

describe('a tree of files from a stranger', () => {
  it('follows links inside the root and refuses those that lead out of it', () => {
    using outside = tempFolder();
    using folder = tempFolder();
    writeFileSync(join(outside.path, 'secret'), 'secret');
    writeFileSync(join(folder.path, 'real'), 'hello');
    symlinkSync('real', join(folder.path, 'inside'));
    symlinkSync(join(outside.path, 'secret'), join(folder.path, 'out'));
    symlinkSync('../../../../../../etc/passwd', join(folder.path, 'up'));
    symlinkSync('nowhere', join(folder.path, 'broken'));
    const { tree } = openTree(folder.path);
    expect(tree.root.open('inside').read(0, 9).toString()).toBe('hello');
    expect(codeOf(() => tree.root.open('out'))).toBe('FILE_LINK_OUTSIDE');
    expect(codeOf(() => tree.root.open('up'))).toBe('FILE_LINK_OUTSIDE');
    expect(codeOf(() => tree.root.open('broken'))).toBe('FILE_LINK_BROKEN');
    expect(codeOf(() => tree.root.open('missing'))).toBe('FILE_MISSING');
    tree.close();
  });

  it('does not walk into a linked folder, so a loop of links ends', () => {
    using folder = tempFolder();
    mkdirSync(join(folder.path, 'a'));
    symlinkSync('..', join(folder.path, 'a', 'loop'));
    const { tree } = openTree(folder.path);
    expect(tree.root.directory('a')?.directory('loop')).toBeNull();
  });

  it('never opens a pipe', () => {
    using folder = tempFolder();
    execFileSync('mkfifo', [join(folder.path, 'model.pt')]);
    const { tree } = openTree(folder.path);
    expect(tree.root.entries.get('model.pt')?.kind).toBe('special');
    expect(codeOf(() => tree.root.open('model.pt'))).toBe('FILE_NOT_REGULAR');
  });

  it('reads parts, clamped to the file, and slices of slices', () => {
    using folder = tempFolder();
    writeFileSync(join(folder.path, 'f'), '0123456789');
    const { tree } = openTree(folder.path);
    const source = tree.root.open('f');
    expect(source.read(8, 100).toString()).toBe('89');
    expect(source.read(Number.POSITIVE_INFINITY, 1)).toHaveLength(0);
    const slice = source.slice(2, 6).slice(1, 3);
    expect([slice.base, slice.size, slice.read(0, 9).toString()]).toEqual([3, 3, '345']);
    tree.close();
  });

  it('keeps few files open, however many it reads', () => {
    using folder = tempFolder();
    for (let index = 0; index < 200; index++) writeFileSync(join(folder.path, `f${index}`), String(index));
    const { tree } = openTree(folder.path);
    const sources = tree.root.files(/^f/).map(({ name }) => tree.root.open(name));
    const texts = [...sources, ...sources].map((source) => source.read(0, 9).toString());
    expect(texts.slice(0, 3)).toEqual(['0', '1', '2']);
    expect(texts.slice(200)).toEqual(texts.slice(0, 200));
    tree.close();
  });

  it('does not read one file again and again, whatever names it has', () => {
    using folder = tempFolder();
    writeFileSync(join(folder.path, 'real'), Buffer.alloc(1024 * 1024));
    for (let i = 0; i < 100; i++) symlinkSync('real', join(folder.path, `name-${i}`));
    const { tree } = openTree(folder.path);
    const codes = Array.from({ length: 100 }, (_, i) => codeOf(() => tree.root.open(`name-${i}`).read(0, 1024 * 1024)));
    expect(codes[0]).toBeNull();
    expect(codes.at(-1)).toBe('LIMIT_EXCEEDED');
    tree.close();
    expect(codeOf(() => tree.root.open('name-0').read(0, 1024))).toBeNull();
  });

  it('limits how much it unpacks of all files together', () => {
    using folder = tempFolder();
    writeFileSync(join(folder.path, 'a'), 'x');
    writeFileSync(join(folder.path, 'b'), 'x');
    const { tree } = openTree(folder.path);
    expect(codeOf(() => tree.root.open('a').unpacks?.(400 * 1024 * 1024))).toBeNull();
    expect(codeOf(() => tree.root.open('b').unpacks?.(400 * 1024 * 1024))).toBe('LIMIT_EXCEEDED');
  });

  it('reports that a file is gone when the tree is read again', () => {
    using folder = tempFolder();
    writeFileSync(join(folder.path, 'a'), 'x');
    const { tree } = openTree(folder.path);
    expect(tree.look('a')).toMatchObject({ size: 1 });
    rmSync(join(folder.path, 'a'));
    expect(codeOf(() => tree.look('a'))).toBe('FILE_NOT_READABLE');
  });
});
