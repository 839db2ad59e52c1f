import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../../test/support/temp-folder.ts';
import { startAttempt } from '../../../store/attempt/attempt.ts';
import { realFs } from '../../../store/disk/durable-fs.ts';
import { beginSave, type Save } from '../../../store/commit/save.ts';
import { openRun, type OpenStore } from '../../../store/folder/store.ts';
import { assertOneWriterEach, namesOf } from './one-writer.ts';
import { sealSave } from './seal-save.ts';

type Names = Readonly<Record<number, unknown>>;

/** Makes the folder of a save with these files, and the list that each rank left. */
function handed(folder: string, files: Readonly<Record<string, string>>, names: Names): { readonly folder: string; readonly data: string } {
  const data = join(folder, 'data');
  mkdirSync(data, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(data, name)), { recursive: true });
    writeFileSync(join(data, name), text);
  }
  for (const [rank, list] of Object.entries(names)) {
    writeFileSync(namesOf(folder, Number(rank)), typeof list === 'string' ? list : JSON.stringify(list));
  }
  return { folder, data };
}

describe('a save whose ranks list the files that they wrote', () => {
  it.each<readonly [string, Names]>([
    ['lists of different names', { 0: ['state-0.pt', 'meta.json'], 1: ['state-1.pt'], 12: [] }],
    ['one name twice for a file that was removed', { 0: ['x.tmp', 'state-0.pt'], 1: ['x.tmp', 'state-1.pt'] }],
    ['one name twice for an empty file', { 0: ['lock'], 1: ['lock'] }],
    ['one name twice for a folder', { 0: ['parts'], 1: ['parts'] }],
    ['paths outside the save', { 0: ['../names-0.json', '/etc/passwd'], 1: ['../names-0.json', '/etc/passwd'] }],
    ['lists that are malformed', { 0: '{"meta.json": 1', 1: [7, null, { 'meta.json': 0 }], 2: { length: 1, 0: 'meta.json' } }],
    ['one name twice from the same rank', { 0: ['meta.json', 'meta.json'] }],
  ])('is accepted with %s', (_, names) => {
    using folder = tempFolder();
    const files = { 'state-0.pt': 'a', 'state-1.pt': 'b', 'meta.json': '{}', lock: '', 'parts/0': 'a' };
    expect(() => assertOneWriterEach(realFs, handed(folder.path, files, names))).not.toThrow();
  });

  it('is refused if two ranks wrote the same file, with the name of the file and the fix', () => {
    using folder = tempFolder();
    const save = handed(folder.path, { 'deep/state.pt': 'of one of them' }, { 0: ['a'], 3: ['deep/state.pt'], 7: ['deep/state.pt'] });
    expect(() => assertOneWriterEach(realFs, save)).toThrow(
      expect.objectContaining({
        code: 'SAVE_MIXED',
        message: expect.stringMatching(/^deep\/state\.pt was written by rank 3 and by rank 7.*f"state-\{rank\}\.pt"/) as string,
      }),
    );
  });
});

describe('a save of two ranks', () => {
  async function begun(folder: string): Promise<{ readonly store: OpenStore; readonly save: Save }> {
    const dir = join(folder, 'run');
    mkdirSync(dir);
    const store = openRun(dir);
    return { store, save: beginSave(store, await startAttempt(store, { gang: 'a' }), { step: 7, worldSize: 2 }) };
  }

  const options = { signal: new AbortController().signal, onBytes: () => {}, mayCommit: () => true };

  it.each(['on the disk', 'in memory'])('that wrote the same file %s is not sealed, and all of it is removed', async (where) => {
    using folder = tempFolder();
    const { store, save } = await begun(folder.path);
    const memory = join(folder.path, 'image');
    const { data } = handed(where === 'in memory' ? memory : save.folder, { 'state.pt': 'mixed' }, { 0: ['state.pt'], 1: ['state.pt'] });
    const sealed = sealSave(store, { kind: 'seal', save, image: where === 'in memory' ? data : null }, options);
    await expect(sealed).rejects.toMatchObject({ code: 'SAVE_MIXED' });
    expect(readdirSync(store.path)).toEqual(['.holdfast']);
    expect(readdirSync(dirname(save.folder))).toEqual([]);
  });

  it('is sealed when each rank wrote its own file', async () => {
    using folder = tempFolder();
    const { store, save } = await begun(folder.path);
    handed(save.folder, { 'state-0.pt': 'a', 'state-1.pt': 'b' }, { 0: ['state-0.pt'], 1: ['state-1.pt'] });
    expect(await sealSave(store, { kind: 'seal', save, image: null }, options)).toMatchObject({ name: 'step-7', bytes: 2 });
    expect(readdirSync(join(store.path, 'step-7')).sort()).toEqual(['holdfast.manifest.json', 'state-0.pt', 'state-1.pt']);
  });
});
