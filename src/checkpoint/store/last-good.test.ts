import {
  appendFileSync,
  cpSync,
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
import { flipBit } from '../../../test/support/fixture-copy.ts';
import { WHOLE } from '../../../test/support/fixtures.ts';
import { seal, sealSteps, stagedSave, testRun } from '../../../test/support/sealed-run.ts';
import { safetensorsFile } from '../../../test/support/make-safetensors.ts';
import { adopt } from './adopt.ts';
import { type Attempt, startAttempt } from './attempt.ts';
import { commitSave } from './commit.ts';
import { type DurableFs, realFs } from './durable-fs.ts';
import { lastGood, missingTarget, startsFresh } from './last-good.ts';
import { formatManifest, type Manifest } from './manifest.ts';
import { prune } from './prune.ts';
import { listQuarantine, quarantine, restore } from './quarantine.ts';
import { findSealed, rollBack } from './roll-back.ts';
import { beginSave, type Save, writeReceipt } from './save.ts';
import { scan } from './scan.ts';
import { openRun, type OpenStore } from './store.ts';

const nameOfLastGood = async (store: OpenStore) => (await lastGood(store)).checkpoint?.name ?? null;

/** A file system on which looking at paths that match fails. */
function failingAt(pattern: RegExp, code: string): DurableFs {
  return {
    ...realFs,
    stat(path) {
      if (pattern.test(path)) throw Object.assign(new Error(`${code}: ${path}`), { code });
      return realFs.stat(path);
    },
  };
}

describe('the last good checkpoint', () => {
  it('is none in an empty folder', async () => {
    using run = testRun();
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: null, skipped: [] });
  });

  it('is the newest sealed one, whatever the pointer says', async () => {
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
  ])('is the next older one when %s; the bad one is moved aside with the reason', async (_, code, damage) => {
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

  it('passes by several bad ones in one go, and tells each', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3, 4);
    for (const step of [2, 3, 4]) truncateSync(join(run.path, `step-${step}/shard-0`), 1);
    const found = await lastGood(run.store);
    expect(found.checkpoint?.name).toBe('step-1');
    expect(found.skipped.map(({ name }) => name)).toEqual(['step-4', 'step-3', 'step-2']);
  });

  it('does not take a changed byte for good when it reads deep', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    flipBit(join(run.path, 'step-2/shard-0'), 4);
    expect(await nameOfLastGood(run.store)).toBe('step-2');
    expect(await lastGood(run.store, { level: 'deep' })).toMatchObject({
      checkpoint: { name: 'step-1' },
      level: 'deep',
      skipped: [{ name: 'step-2', code: 'MANIFEST_CHECKSUM' }],
    });
  });

  it('is read deep in another life of the machine, once', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const later = openRun(run.path, { bootId: 'boot-2' });
    expect(await lastGood(later)).toMatchObject({ level: 'deep', because: 'boot' });
    expect(await lastGood(later)).toMatchObject({ level: 'quick', because: 'default' });
    expect(await lastGood(run.store)).toMatchObject({ level: 'quick' });
    flipBit(join(run.path, 'step-2/shard-0'), 4);
    expect(await lastGood(openRun(run.path, { bootId: 'boot-3' }))).toMatchObject({ checkpoint: { name: 'step-1' }, because: 'boot' });
  });

  it('is not moved aside because of an I/O error; the next older one is taken and read deep', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const sick = { ...run.store, fs: failingAt(/step-2\/shard-0$/, 'EIO') };
    expect(await lastGood(sick)).toMatchObject({
      checkpoint: { name: 'step-1' },
      because: 'io-error',
      level: 'deep',
      skipped: [{ name: 'step-2', state: 'unreadable', quarantined: null }],
    });
    expect(existsSync(join(run.path, 'step-2'))).toBe(true);
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: { name: 'step-2' }, level: 'deep', because: 'io-error' });
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: { name: 'step-2' }, level: 'quick' });
  });

  it.each<[string, (store: OpenStore, attempt: Attempt) => unknown]>([
    ['a receipt', (store, attempt) => stagedSave(store, attempt, { step: 3 })],
    ['a commit', (store, attempt) => seal(store, attempt, { step: 3 })],
    ['a seal', (store) => adopt(store, join(store.path, 'of-a-tool'), { accept: 'anything', step: 3 })],
    ['a prune', (store) => prune(store, { retention: { last: 1, every: null, withinMs: null } })],
  ])('is read deep after %s met an I/O error, until it was once', async (what, act) => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1, 2);
    mkdirSync(join(run.path, 'of-a-tool'));
    writeFileSync(join(run.path, 'of-a-tool/weights'), 'bytes');
    const fail = (path: string): void => {
      if (!path.includes('last-good') && path !== join(run.path, '.holdfast'))
        throw Object.assign(new Error(`EIO: ${path}`), { code: 'EIO' });
    };
    const isLate = what === 'a commit';
    const fs: DurableFs = {
      ...realFs,
      fsyncFolder(path) {
        if (!isLate || path === run.path) fail(path);
        realFs.fsyncFolder(path);
      },
    };
    await expect(Promise.resolve(act({ ...run.store, fs }, attempt))).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(await lastGood(run.store)).toMatchObject({ level: 'deep', because: 'io-error' });
    expect(await lastGood(run.store)).toMatchObject({ level: 'quick', because: 'default' });
  });

  it('is not dragged away by a manifest beside it that names it as a file of its own', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    const [sealed] = scan(run.store).sealed;
    const files = [{ path: 'step-1', size: 1, crc32c: ['00000000'] }];
    const manifest = { ...(sealed?.manifest as Manifest), step: 9, origin: 'adopted' as const, receipts: [], files };
    writeFileSync(join(run.path, 'model.pt.holdfast.json'), formatManifest(manifest));
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: { name: 'step-1' }, skipped: [{ code: 'MANIFEST_OUTSIDE' }] });
    expect(existsSync(join(run.path, 'step-1/shard-0'))).toBe(true);
  });

  it('is found beside a bad one that cannot be moved, and nothing of that attempt is left behind', async () => {
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

  it('is read deep after an I/O error also where one that has gone meanwhile lets it be scanned anew', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    let isMet = false;
    const fs = {
      ...realFs,
      stat(path: string) {
        if (isMet || !path.endsWith('step-3/shard-0')) return realFs.stat(path);
        isMet = true;
        rmSync(join(run.path, 'step-2'), { recursive: true });
        throw Object.assign(new Error('EIO'), { code: 'EIO' });
      },
    };
    expect(await lastGood({ ...run.store, fs })).toMatchObject({ checkpoint: { name: 'step-3' }, level: 'deep', because: 'io-error' });
    expect(await lastGood(run.store)).toMatchObject({ level: 'deep', because: 'io-error' });
    expect(await lastGood(run.store)).toMatchObject({ level: 'quick', because: 'default' });
  });

  it('is the newer one when a save and a prune come between the scan and the look', async () => {
    for (const isReadOnly of [false, true]) {
      using run = testRun();
      const attempt = await sealSteps(run.store, 'g', 1);
      const next = await stagedSave(run.store, attempt, { step: 2 });
      let checks = 0;
      const onCheck = (): void => {
        checks += 1;
        if (checks > 1) return;
        commitSave(run.store, next);
        rmSync(join(run.path, 'step-1'), { recursive: true });
      };
      const found = await lastGood(run.store, { isReadOnly, onCheck });
      expect([found.checkpoint?.name, found.skipped, found.scan.sealed.map(({ name }) => name)]).toEqual(['step-2', [], ['step-2']]);
    }
  });

  it('is looked for a bounded number of times where all that is found goes at once, and what was moved aside is told all the same', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1, 2);
    rmSync(join(run.path, 'step-2/shard-0'));
    const coming: Save[] = [];
    for (let step = 3; step < 30; step++) coming.push(await stagedSave(run.store, attempt, { step }));
    const taken: string[] = [];
    const onCheck = (name: string): void => {
      if (name === 'step-2') return;
      taken.push(name);
      const next = coming.shift();
      if (next !== undefined) commitSave(run.store, next);
      rmSync(join(run.path, name), { recursive: true });
    };
    const { checkpoint, skipped } = await lastGood(run.store, { onCheck });
    expect([checkpoint, taken.length]).toEqual([null, 10]);
    expect(skipped).toMatchObject([{ name: 'step-2', state: 'bad' }, { name: taken.at(-1) }]);
  });

  it('lets a run start fresh only where nothing was sealed, or when a person has said so', async () => {
    using run = testRun();
    expect(startsFresh(await lastGood(run.store))).toBe(true);
    await sealSteps(run.store, 'g', 1);
    expect(startsFresh(await lastGood(run.store))).toBe(false);
    truncateSync(join(run.path, 'step-1/shard-0'), 0);
    // Found bad; in quarantine; and beside something whose manifest says nothing any more.
    for (const _ of [1, 2]) expect(startsFresh(await lastGood(run.store))).toBe(false);
    mkdirSync(join(run.path, 'step-2'));
    writeFileSync(join(run.path, 'step-2/holdfast.manifest.json'), '{"sche');
    expect(startsFresh(await lastGood(run.store))).toBe(false);
    await rollBack(run.store, null);
    expect(startsFresh(await lastGood(run.store))).toBe(true);
  });

  it('does not let a run start fresh that was rolled back to a step which is not there', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 4, 6);
    await rollBack(run.store, findSealed(run.store, '4'));
    rmSync(join(run.path, 'step-4'), { recursive: true });
    const found = await lastGood(run.store);
    expect([startsFresh(found), missingTarget(found)]).toEqual([false, { name: 'step-4', attempt: 1, step: 4 }]);
    const decidedAnew = await rollBack(run.store, null).then(() => lastGood(run.store));
    expect([startsFresh(decidedAnew), missingTarget(decidedAnew)]).toEqual([true, null]);
  });

  it('leaves alone what a manifest of another version seals', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const file = join(run.path, 'step-2/holdfast.manifest.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('holdfast.manifest/1', 'holdfast.manifest/9'));
    const found = await lastGood(run.store);
    expect(found).toMatchObject({ checkpoint: { name: 'step-1' }, skipped: [{ name: 'step-2', state: 'not-judged', quarantined: null }] });
  });

  it('is never one of another run, and those are never touched', async () => {
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

  it('is told, but nothing is moved or remembered, when it shall only look', async () => {
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

  it('is found on a volume that cannot be written any more', async () => {
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

  it('is not one whose files lie behind a link that leads out of it', async () => {
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

  it('is not one that was sealed faithfully but cannot be loaded; every byte is as sealed, so it stays where it is', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    await sealHalf(run.store, attempt, 2);
    for (const level of ['auto', 'deep'] as const) {
      expect(await lastGood(run.store, { level })).toMatchObject({
        checkpoint: { name: 'step-1' },
        warning: null,
        skipped: [
          { name: 'step-2', state: 'doubted', reason: expect.stringMatching(/^every byte is as it was sealed, but/), quarantined: null },
        ],
      });
    }
    expect(listQuarantine(run.store)).toEqual([]);
  });

  it('is a doubted one with a warning where there is no other, and then nothing is pruned on its word', async () => {
    using run = testRun();
    const attempt = await startAttempt(run.store, { gang: 'g' });
    await sealHalf(run.store, attempt, 1);
    await sealHalf(run.store, attempt, 2);
    expect(await lastGood(run.store)).toMatchObject({
      checkpoint: { name: 'step-2' },
      level: 'deep',
      because: 'doubt',
      warning: expect.stringContaining('model.safetensors'),
      skipped: [{ name: 'step-1', state: 'doubted', quarantined: null }],
    });
    const { removed } = await prune(run.store, { retention: { last: 1, every: null, withinMs: null } });
    expect(removed).toEqual([]);
    expect(readdirSync(run.path)).toEqual(['.holdfast', 'step-1', 'step-2']);
  });

  it('is not one whose structure looks wrong because its bytes changed: that one is bad', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    const save = beginSave(run.store, attempt, { step: 2, worldSize: 1 });
    writeFileSync(join(save.data, 'model.safetensors'), safetensorsFile({ weight: 64 }));
    await writeReceipt(run.store, save, { rank: 0 });
    commitSave(run.store, save);
    expect(await nameOfLastGood(run.store)).toBe('step-2');
    // The length of its header, beyond the end of the file.
    flipBit(join(run.path, 'step-2/model.safetensors'), 2);
    expect((await lastGood(run.store)).skipped).toMatchObject([{ name: 'step-2', state: 'bad', code: 'MANIFEST_CHECKSUM' }]);
    expect(listQuarantine(run.store)).toMatchObject([{ id: 'step-2' }]);
  });

  it('is an adopted one whatever is put beside its files later: its bytes were proven when it was sealed', async () => {
    using run = testRun();
    cpSync(join(WHOLE, 'hf-trainer-run/data/run/checkpoint-2'), join(run.path, 'checkpoint-2'), { recursive: true });
    await adopt(run.store, join(run.path, 'checkpoint-2'));
    writeFileSync(join(run.path, 'checkpoint-2/model-00002-of-00002.safetensors'), 'half');
    expect(await lastGood(run.store)).toMatchObject({
      checkpoint: { name: 'checkpoint-2' },
      warning: expect.stringContaining('shards of model.safetensors'),
      skipped: [],
    });
  });

  it('is one whose files a copy has made sparse', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    const save = beginSave(run.store, attempt, { step: 2, worldSize: 1 });
    const file = safetensorsFile({ weight: 1 << 20 });
    file.fill(0, file.length - (1 << 20));
    writeFileSync(join(save.data, 'model.safetensors'), file);
    await writeReceipt(run.store, save, { rank: 0 });
    commitSave(run.store, save);
    const copy = join(run.path, 'step-2/model.safetensors');
    truncateSync(copy, file.length - (1 << 20));
    truncateSync(copy, file.length);
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: { name: 'step-2' }, warning: null, skipped: [] });
  });
});

/** A save of which the framework wrote only the first half, and that was sealed all the same. */
async function sealHalf(store: OpenStore, attempt: Attempt, step: number): Promise<void> {
  const save = beginSave(store, attempt, { step, worldSize: 1 });
  writeFileSync(join(save.data, 'model.safetensors'), safetensorsFile({ weight: 64 }).subarray(0, 100));
  await writeReceipt(store, save, { rank: 0 });
  commitSave(store, save);
}

describe('quarantine', () => {
  it('keeps several of one name, and brings any of them back', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1, 2);
    truncateSync(join(run.path, 'step-2/shard-0'), 1);
    await lastGood(run.store);
    await seal(run.store, attempt, { step: 2 });
    rmSync(join(run.path, 'step-2/shard-0'));
    await lastGood(run.store);
    expect(listQuarantine(run.store).map(({ id, code }) => [id, code])).toEqual([
      ['step-2', 'MANIFEST_SIZE'],
      ['step-2-2', 'FILE_MISSING'],
    ]);
    restore(run.store, 'step-2-2');
    expect(readdirSync(join(run.path, 'step-2'))).toEqual(['holdfast.manifest.json']);
    expect(() => restore(run.store, 'step-2')).toThrow(expect.objectContaining({ code: 'NAME_TAKEN' }));
    expect(listQuarantine(run.store).map(({ id }) => id)).toEqual(['step-2']);
  });

  it('gives back nothing from outside', () => {
    using run = testRun();
    for (const id of ['../pins', '..', '/etc', 'a/b', 'nothing']) {
      expect(() => restore(run.store, id)).toThrow(expect.objectContaining({ code: 'NOT_SEALED' }));
    }
  });

  it('does not take another checkpoint that was committed under the name meanwhile', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1, 2);
    truncateSync(join(run.path, 'step-2/shard-0'), 1);
    const [seen] = scan(run.store).sealed;
    await lastGood(run.store);
    await seal(run.store, attempt, { step: 2 });
    // Somebody who looked before the others moved it, and is late.
    expect(seen === undefined ? null : quarantine(run.store, seen, { code: 'MANIFEST_SIZE', reason: 'late' })).toBeNull();
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: { name: 'step-2' }, skipped: [] });
    expect(listQuarantine(run.store).map(({ id }) => id)).toEqual(['step-2']);
  });

  it('is used again for one that comes back bad', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    truncateSync(join(run.path, 'step-2/shard-0'), 1);
    await lastGood(run.store);
    restore(run.store, 'step-2');
    expect((await lastGood(run.store)).skipped).toMatchObject([{ name: 'step-2', state: 'bad' }]);
  });
});

function flipStep(path: string): void {
  const file = join(path, 'holdfast.manifest.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace('"step":3', '"step":9'));
}

function contentOf(folder: string): readonly (readonly [string, string])[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => [entry.name, readFileSync(join(entry.parentPath, entry.name), 'latin1')] as const);
}
