import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { commitSave } from '../commit/commit.ts';
import { realFs } from '../disk/durable-fs.ts';
import { lastGood } from './last-good.ts';
import { formatManifest, type Manifest } from '../../seal/manifest.ts';
import { listQuarantine } from './quarantine.ts';
import { beginSave, writeReceipt } from '../commit/save.ts';
import { scan } from '../folder/scan.ts';
import type { OpenStore } from '../folder/store.ts';

const nameOfLastGood = async (store: OpenStore) => (await lastGood(store)).checkpoint?.name ?? null;

function flipStep(path: string): void {
  const file = join(path, 'holdfast.manifest.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace('"step":3', '"step":9'));
}

function contentOf(folder: string): readonly (readonly [string, string])[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => [entry.name, readFileSync(join(entry.parentPath, entry.name), 'latin1')] as const);
}

describe('the last good checkpoint', () => {
  it('is none in an empty folder', async () => {
    using run = testRun();
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: null, skipped: [] });
  });

  it('is the newest sealed one, even when the pointer names another', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    for (const text of ['', '{}', readFileSync(join(run.path, '.holdfast/last-good.json'), 'utf8').replace('step-3', 'step-1')]) {
      writeFileSync(join(run.path, '.holdfast/last-good.json'), text);
      expect(await nameOfLastGood(run.store)).toBe('step-3');
    }
    rmSync(join(run.path, '.holdfast/last-good.json'));
    expect(await nameOfLastGood(run.store)).toBe('step-3');
  });

  it.each<[string, string, (path: string) => void]>([
    ['a file is missing', 'FILE_MISSING', (path) => rmSync(join(path, 'shard-0'))],
    ['a file is short', 'MANIFEST_SIZE', (path) => truncateSync(join(path, 'shard-0'), 3)],
    ['a file is empty', 'MANIFEST_SIZE', (path) => truncateSync(join(path, 'shard-0'), 0)],
    ['a file is longer', 'MANIFEST_SIZE', (path) => appendFileSync(join(path, 'shard-0'), 'x')],
    ['its manifest was changed', 'MANIFEST_INVALID', (path) => flipStep(path)],
  ])('is the next older one when %s; the bad one moves to quarantine with the reason', async (_, code, damage) => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    damage(join(run.path, 'step-3'));
    const before = contentOf(join(run.path, 'step-3'));
    const found = await lastGood(run.store);
    expect(found.checkpoint?.name).toBe('step-2');
    expect(found.skipped).toMatchObject([
      { name: 'step-3', state: 'bad', code, quarantined: join(run.path, '.holdfast/quarantine/step-3/step-3') },
    ]);
    expect(existsSync(join(run.path, 'step-3'))).toBe(false);
    expect(contentOf(join(run.path, '.holdfast/quarantine/step-3/step-3'))).toEqual(before);
    expect(listQuarantine(run.store)).toMatchObject([{ id: 'step-3', code }]);
    expect((await lastGood(run.store)).skipped).toEqual([]);
  });

  it('is found in one search behind several bad ones, and the search reports each', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3, 4);
    for (const step of [2, 3, 4]) truncateSync(join(run.path, `step-${step}/shard-0`), 1);
    const found = await lastGood(run.store);
    expect(found.checkpoint?.name).toBe('step-1');
    expect(found.skipped.map(({ name }) => name)).toEqual(['step-4', 'step-3', 'step-2']);
  });

  it('stays in place when a bad manifest beside it names it as one of its files', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    const [sealed] = scan(run.store).sealed;
    const files = [{ path: 'step-1', size: 1, crc32c: ['00000000'] }];
    const manifest = { ...(sealed?.manifest as Manifest), step: 9, origin: 'adopted' as const, receipts: [], files };
    writeFileSync(join(run.path, 'model.pt.holdfast.json'), formatManifest(manifest));
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: { name: 'step-1' }, skipped: [{ code: 'MANIFEST_OUTSIDE' }] });
    expect(existsSync(join(run.path, 'step-1/shard-0'))).toBe(true);
  });

  it('is found when a bad one cannot be moved, and the failed move leaves nothing behind', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    truncateSync(join(run.path, 'step-2/shard-0'), 0);
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        if (from.endsWith('/step-2')) throw Object.assign(new Error('EBUSY'), { code: 'EBUSY' });
        realFs.rename(from, to);
      },
    };
    for (const _ of [1, 2]) {
      expect(await lastGood({ ...run.store, fs })).toMatchObject({
        checkpoint: { name: 'step-1' },
        skipped: [{ name: 'step-2', quarantined: null }],
      });
    }
    expect(readdirSync(join(run.path, '.holdfast/quarantine'))).toEqual([]);
  });

  it('is an older one when the manifest has another version, and that checkpoint stays in place', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const file = join(run.path, 'step-2/holdfast.manifest.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('holdfast.manifest/1', 'holdfast.manifest/9'));
    const found = await lastGood(run.store);
    expect(found).toMatchObject({ checkpoint: { name: 'step-1' }, skipped: [{ name: 'step-2', state: 'not-judged', quarantined: null }] });
  });

  it('never belongs to another run, and checkpoints of other runs stay untouched', async () => {
    using run = testRun();
    using other = testRun();
    await sealSteps(run.store, 'g', 1);
    await sealSteps(other.store, 'g', 900);
    realFs.rename(join(other.path, 'step-900'), join(run.path, 'step-900'));
    truncateSync(join(run.path, 'step-900/shard-0'), 1);
    const found = await lastGood(run.store);
    expect(found.checkpoint?.name).toBe('step-1');
    expect(found.scan.foreign).toEqual([{ name: 'step-900', run: other.store.run }]);
    expect(existsSync(join(run.path, 'step-900'))).toBe(true);
  });

  it('is an older one when a link leads out of the candidate', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    const save = beginSave(run.store, attempt, { step: 2, worldSize: 1 });
    mkdirSync(join(save.data, 'folder'));
    writeFileSync(join(save.data, 'folder/shard'), 'bytes');
    await writeReceipt(run.store, save, { rank: 0 });
    commitSave(run.store, save);
    expect(await nameOfLastGood(run.store)).toBe('step-2');
    realFs.rename(join(run.path, 'step-2/folder'), join(run.path, 'elsewhere'));
    symlinkSync('../elsewhere', join(run.path, 'step-2/folder'));
    expect(await lastGood(run.store)).toMatchObject({
      checkpoint: { name: 'step-1' },
      skipped: [{ name: 'step-2', code: 'FILE_MISSING' }],
    });
  });

  it('is found on a volume that has become read-only', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    truncateSync(join(run.path, 'step-2/shard-0'), 1);
    const refuse = () => {
      throw Object.assign(new Error('EROFS'), { code: 'EROFS' });
    };
    const fs = { ...realFs, mkdir: refuse, rename: refuse, writeFile: refuse, unlink: refuse };
    expect(await lastGood({ ...run.store, fs })).toMatchObject({
      checkpoint: { name: 'step-1' },
      skipped: [{ name: 'step-2', quarantined: null }],
    });
  });

  it('is reported without any move or record by a read-only search', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    truncateSync(join(run.path, 'step-2/shard-0'), 1);
    const before = contentOf(join(run.path, '.holdfast'));
    expect(await lastGood(run.store, { isReadOnly: true })).toMatchObject({
      checkpoint: { name: 'step-1' },
      skipped: [{ quarantined: null }],
    });
    expect(existsSync(join(run.path, 'step-2'))).toBe(true);
    expect(contentOf(join(run.path, '.holdfast'))).toEqual(before);
  });
});
