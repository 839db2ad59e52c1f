import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HoldfastError } from '../../src/core/errors.ts';
import { EXIT } from '../../src/core/exit-codes.ts';
import { formatManifest, type Manifest, parseManifest } from '../../src/seal/manifest.ts';
import { openRun } from '../../src/store/folder/store.ts';
import { startAttempt } from '../../src/store/attempt/attempt.ts';
import { asRefusal } from '../../src/supervisor/run/refusal.ts';
import { seal } from '../support/sealed-run.ts';
import { keysIn, SPOILS } from '../support/spoil-copies.ts';
import { openCopies, shipNewest, type StartedOver, startOver } from '../support/start-over.ts';
import { MEMORY, tempFolder } from '../support/temp-folder.ts';

/** Each step is of an attempt of its own: 40 of 1, 60 of 2, 80 of 3. */
const STEPS = [40, 60, 80];
/** What an empty and a filled folder of the next node hold. */
const LOCALS = { 'an empty folder': 0, 'a folder with step 40': 40 } as const;
type Local = keyof typeof LOCALS;

let base: ReturnType<typeof tempFolder>;
let runId: string;

beforeAll(async () => {
  base = tempFolder(MEMORY);
  const [run, local] = [join(base.path, 'run'), join(base.path, 'local')];
  mkdirSync(run);
  const store = openRun(run);
  runId = store.run;
  await using remote = openCopies({ url: `file://${join(base.path, 'copies')}` });
  for (const [index, step] of STEPS.entries()) {
    const attempt = await startAttempt(store, { gang: `gang ${step}` });
    expect(attempt.attempt).toBe(index + 1);
    await seal(store, attempt, { step });
    await shipNewest(store, remote);
    await remote.create(
      `.holdfast/attempt-numbers/${index + 1}.json`,
      Buffer.from(JSON.stringify({ attempt: index + 1, gang: 'g', run: runId })),
    );
    if (step === 40) cpSync(run, local, { recursive: true });
  }
});

afterAll(() => base[Symbol.dispose]());

/** How a start ended: what it decided, or the exit code of its refusal. */
type Outcome = StartedOver | { readonly refused: number };

async function afterSpoiling(local: Local, spoil: (copies: string) => void): Promise<Outcome> {
  using folder = tempFolder(MEMORY);
  const dir = join(folder.path, 'node');
  cpSync(join(base.path, 'copies'), join(folder.path, 'copies'), { recursive: true });
  if (LOCALS[local] === 0) mkdirSync(dir);
  else cpSync(join(base.path, 'local'), dir, { recursive: true });
  spoil(join(folder.path, 'copies'));
  try {
    return await startOver({ dir, url: `file://${join(folder.path, 'copies')}`, tmp: folder.path });
  } catch (thrown) {
    if (!(thrown instanceof HoldfastError)) throw thrown;
    return { refused: (asRefusal(thrown) as HoldfastError).exitCode };
  }
}

/** The newest copy of which this leaves every object as it was. */
function newestWhole(spoiled: readonly string[]): number {
  const isWhole = (step: number): boolean => !spoiled.some((key) => key.startsWith(`step-${step}/`));
  return STEPS.findLast(isWhole) ?? 0;
}

describe.each(Object.keys(LOCALS) as Local[])('a run that starts with %s over copies', (local) => {
  it.each(Object.entries(SPOILS))('resumes from the newest good one, or refuses, whichever object is %s', async (name, spoil) => {
    const keys = keysIn(join(base.path, 'copies'));
    expect(keys.length).toBeGreaterThan(10);
    for (const [index, key] of keys.entries()) {
      const other = keys[(index + 1) % keys.length] ?? '';
      const outcome = await afterSpoiling(local, (copies) => spoil(join(copies, key), join(copies, other), runId));
      const spoiled = name === 'swapped' ? [key, other] : [key];
      const what = `${name} ${spoiled.join(' and ')}`;
      if ('refused' in outcome) {
        expect([what, outcome.refused]).toEqual([what, 65]);
        // Only where nothing says any more whose copies these are.
        expect([what, spoiled.includes('.holdfast/run.json')]).toEqual([what, true]);
        continue;
      }
      const best = Math.max(newestWhole(spoiled), LOCALS[local]);
      // Bytes behind the sealed ones change nothing.
      const isGood = outcome.step === best || (name === 'huge' && outcome.step === 80);
      expect([what, outcome.step, isGood]).toEqual([what, outcome.step, true]);
      expect([what, outcome.attempt > 3]).toEqual([what, true]);
      // The next save is newer than every copy: the pointer names it, or what it named before.
      expect([what, outcome.pointer === null || outcome.pointer > best]).toEqual([what, true]);
    }
  });

  it('skips a copy with impossible claims, before it fetches any byte of it', async () => {
    const hostile: Readonly<Record<string, (manifest: Manifest) => Partial<Manifest>>> = {
      'a file below another file': ({ files }) => ({ files: [...files, { path: 'shard-0/deeper', size: 0, crc32c: [] }] }),
      'a file in the place of the manifest': ({ files }) => ({
        files: [...files, { path: 'holdfast.manifest.json/deeper', size: 0, crc32c: [] }],
      }),
      'an attempt after which no other can follow': () => ({ attempt: Number.MAX_SAFE_INTEGER }),
      'a size beyond every disk': () => ({
        files: [{ path: 'shard-0', size: 2 ** 42, crc32c: Array.from({ length: 2 ** 19 }, () => '00000000') }],
      }),
      'a path beyond what a disk takes': ({ files }) => ({
        files: [...files, { path: Array.from({ length: 16 }, () => 'd'.repeat(250)).join('/'), size: 0, crc32c: [] }],
      }),
    };
    for (const [what, change] of Object.entries(hostile)) {
      const outcome = await afterSpoiling(local, (copies) => {
        const file = join(copies, 'step-80/holdfast.manifest.json');
        const parsed = parseManifest(readFileSync(file, 'utf8'));
        if (!parsed.ok) throw new Error(parsed.reason);
        writeFileSync(file, formatManifest({ ...parsed.manifest, ...change(parsed.manifest) }));
      });
      expect([what, outcome]).toMatchObject([what, { step: 60 }]);
    }
  });

  it('trusts no pointer or attempt number that is impossible', async () => {
    for (const name of ['.step-80', '../step-80', 'step-80.holdfast.json', 'step-80/inside']) {
      const outcome = await afterSpoiling(local, (copies) => {
        const file = join(copies, '.holdfast/last-good.json');
        writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), name }));
      });
      expect([name, outcome]).toMatchObject([name, { step: 80 }]);
    }
    const huge = await afterSpoiling(local, (copies) => writeFileSync(join(copies, '.holdfast/attempt-numbers/999999999999999.json'), ''));
    expect(huge).toMatchObject({ step: 80, attempt: 4 });
    const pointer = await afterSpoiling(local, (copies) => {
      const file = join(copies, '.holdfast/last-good.json');
      writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), attempt: Number.MAX_SAFE_INTEGER }));
    });
    expect(pointer).toMatchObject({ step: 80, attempt: 4 });
  });

  it('resumes from no older step, and reuses no attempt number, while the copies or the numbers cannot be read', async () => {
    for (const name of ['names', 'attempt-numbers']) {
      const outcome = await afterSpoiling(local, (copies) => {
        const folder = join(copies, '.holdfast', name);
        rmSync(folder, { recursive: true });
        symlinkSync(name, folder);
      });
      // A link counts as nothing, so the names follow from the copies. Nothing is written there.
      const expected = name === 'names' ? { step: 80, attempt: 4, pointer: 80 } : { refused: EXIT.unavailable };
      expect([name, outcome]).toEqual([name, expected]);
    }
  });

  it('never starts from scratch, and never reuses an attempt number, when only the copies themselves are left', async () => {
    const outcome = await afterSpoiling(local, (copies) => rmSync(join(copies, '.holdfast'), { recursive: true }));
    expect(outcome).toMatchObject({ step: 80, attempt: 4, pointer: 81 });
  });
});
