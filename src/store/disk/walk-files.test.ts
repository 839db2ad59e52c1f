import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testRun } from '../../../test/support/sealed-run.ts';
import { adopt } from '../adopt/adopt.ts';
import { startAttempt } from '../attempt/attempt.ts';
import { commitSave } from '../commit/commit.ts';
import { beginSave, writeReceipt } from '../commit/save.ts';

const BROKEN = Buffer.from([0x61, 0xff]);
const AS_SHOWN = 'a\ufffd';

/** Names that include one that is not UTF-8. The other name, where there is one, looks the same. */
const NAMES: readonly (readonly [string, readonly (Buffer | string)[]])[] = [
  ['a name that is not UTF-8', [BROKEN]],
  ['a name that is not UTF-8 beside one that looks the same', [BROKEN, AS_SHOWN]],
  ['two names that are not UTF-8 beside one that looks the same', [BROKEN, Buffer.from([0x61, 0xfe]), AS_SHOWN]],
];

function writeIn(folder: string, names: readonly (Buffer | string)[]): void {
  mkdirSync(folder, { recursive: true });
  for (const name of names) writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name)]), 'bytes');
}

describe.each(NAMES)('a checkpoint that holds %s', (_, names) => {
  it.each(['', 'deep'])('is refused by seal with the name of the file (in the folder "%s")', async (below) => {
    using run = testRun();
    const path = join(run.path, 'step-1');
    writeIn(join(path, below), names);
    const sealing = adopt(run.store, path, { accept: 'anything' });
    await expect(sealing).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_SEALABLE', message: expect.stringContaining(AS_SHOWN) as string });
  });

  it('is refused by a save with the name of the file', async () => {
    using run = testRun();
    const save = beginSave(run.store, await startAttempt(run.store, { gang: 'g' }), { step: 1, worldSize: 1 });
    writeIn(save.data, names);
    const receipt = writeReceipt(run.store, save, { rank: 0 });
    await expect(receipt).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_SEALABLE', message: expect.stringContaining(AS_SHOWN) as string });
  });

  it('is refused by the commit when the name comes after the receipt', async () => {
    using run = testRun();
    const save = beginSave(run.store, await startAttempt(run.store, { gang: 'g' }), { step: 1, worldSize: 1 });
    writeIn(save.data, ['state']);
    await writeReceipt(run.store, save, { rank: 0 });
    writeIn(save.data, names);
    expect(() => commitSave(run.store, save)).toThrow(AS_SHOWN);
  });
});
