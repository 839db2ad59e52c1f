import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Attempt, startAttempt } from '../src/store/attempt/attempt.ts';
import { findSealed, rollBack } from '../src/store/attempt/roll-back.ts';
import { commitSave, type Sealed } from '../src/store/commit/commit.ts';
import { beginSave, writeReceipt } from '../src/store/commit/save.ts';
import type { OpenStore } from '../src/store/folder/store.ts';
import { fixtureData, flipBit } from './support/fixture-copy.ts';
import { runCommand } from './support/run-command.ts';
import { testRun, type TestRun } from './support/sealed-run.ts';

const TRAINER = join(fixtureData('hf-trainer'), 'checkpoint-4');

/**
 * The files of the SDK and its adapters in the folder of a save; the step inside `state.pt` is 100.
 */
const LAYOUTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'one torch file': { 'state.pt': join(fixtureData('torch-zip-train'), 'step-100.pt') },
  'a torch file and the random state of two ranks': {
    'state.pt': join(fixtureData('torch-zip-train'), 'step-100.pt'),
    'rank-0.pt': join(TRAINER, 'rng_state.pth'),
    'rank-1.pt': join(TRAINER, 'rng_state.pth'),
  },
  'weights alone, as of an optimizer without state': { 'state.pt': join(fixtureData('torch-zip-weights'), 'model.pt') },
  'the folder of a Hugging Face Trainer': { '.': TRAINER },
};

async function save(store: OpenStore, attempt: Attempt, step: number, layout: string): Promise<Sealed> {
  const begun = beginSave(store, attempt, { step, worldSize: 1 });
  for (const [name, from] of Object.entries(LAYOUTS[layout] ?? {})) cpSync(from, join(begun.data, name), { recursive: true });
  await writeReceipt(store, begun, { rank: 0 });
  return commitSave(store, begun);
}

interface Answer {
  readonly code: number;
  readonly lastGood: string | null;
  readonly checkpoints: readonly {
    readonly path: string;
    readonly verdict: string;
    readonly step: number | null;
    readonly isExport: boolean;
  }[];
}

async function verify(path: string, ...options: readonly string[]): Promise<Answer> {
  const { code, stdout } = await runCommand(['verify', '--json', ...options, path]);
  const { paths } = JSON.parse(stdout) as { paths: Omit<Answer, 'code'>[] };
  return { code, ...(paths[0] as Omit<Answer, 'code'>) };
}

describe.each(Object.keys(LAYOUTS))('a sealed save of %s', (layout) => {
  it('is one checkpoint of the step it was sealed at: UNCHECKED, and RESUMABLE with --deep', async () => {
    using run = testRun();
    const { path } = await save(run.store, await startAttempt(run.store, { gang: 'g' }), 800, layout);
    for (const given of [run.path, path]) {
      expect((await verify(given)).checkpoints).toMatchObject([{ path, verdict: 'UNCHECKED', step: 800 }]);
      expect((await verify(given, '--deep')).checkpoints).toMatchObject([{ path, verdict: 'RESUMABLE', step: 800 }]);
    }
    for (const [level, verdict] of [
      ['', 'UNCHECKED'],
      ['--deep', 'RESUMABLE'],
    ] as const) {
      const { stdout } = await runCommand(['ls', '--json', ...(level === '' ? [] : [level]), run.path]);
      expect(JSON.parse(stdout)).toMatchObject({ checkpoints: [{ verdict, step: 800 }] });
    }
  });
});

it('verify --deep --last-good skips a sealed folder with one changed file, even if the others are whole', async () => {
  using run = testRun();
  const attempt = await startAttempt(run.store, { gang: 'g' });
  const older = await save(run.store, attempt, 700, 'a torch file and the random state of two ranks');
  const newer = await save(run.store, attempt, 800, 'a torch file and the random state of two ranks');
  flipBit(join(newer.path, 'rank-1.pt'), 200);
  const { stdout } = await runCommand(['verify', '--deep', '--last-good', run.path]);
  expect(stdout.trim()).toBe(older.path);
  expect((await verify(run.path, '--deep')).checkpoints).toMatchObject([
    { path: newer.path, verdict: 'CORRUPT' },
    { path: older.path, verdict: 'RESUMABLE' },
  ]);
});

it('verify names the export of a finished Trainer beside its checkpoints, and exits with 0', async () => {
  using run = testRun();
  const folder = join(run.path, 'out');
  mkdirSync(folder);
  cpSync(TRAINER, join(folder, 'checkpoint-4'), { recursive: true });
  for (const name of ['model.safetensors', 'config.json', 'training_args.bin']) {
    if (existsSync(join(TRAINER, name))) cpSync(join(TRAINER, name), join(folder, name));
  }
  const { code, checkpoints } = await verify(folder);
  expect(checkpoints.filter(({ isExport }) => isExport).map(({ verdict }) => verdict)).toEqual(['WEIGHTS_ONLY']);
  expect(code).toBe(0);
  expect((await runCommand(['verify', folder])).stdout).toContain('export of the weights');
});

it('verify exits with 1 for weights without a checkpoint beside them', async () => {
  expect((await verify(fixtureData('torch-zip-weights'))).code).toBe(1);
});

/** The possible changes of a run between two commands. */
const EVENTS = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('save' as const), step: fc.nat(30), layout: fc.constantFrom(...Object.keys(LAYOUTS)) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('attempt' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('flip' as const), nth: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('unsealed' as const), step: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rollback' as const), nth: fc.nat(3) }) },
);

type Happening = typeof EVENTS extends fc.Arbitrary<infer E> ? E : never;

async function play(run: TestRun, events: readonly Happening[]): Promise<void> {
  let attempt = await startAttempt(run.store, { gang: '0' });
  const sealed: Sealed[] = [];
  for (const [index, event] of events.entries()) {
    const nth = 'nth' in event ? sealed.at(-1 - event.nth) : undefined;
    if (event.kind === 'save') sealed.push(await save(run.store, attempt, event.step, event.layout));
    else if (event.kind === 'attempt') attempt = await startAttempt(run.store, { gang: String(index + 1) });
    else if (event.kind === 'unsealed') cpSync(TRAINER, join(run.path, `checkpoint-${event.step}`), { recursive: true });
    else if (event.kind === 'flip' && nth !== undefined) flipBit(join(nth.path, nth.manifest.files[0]?.path ?? ''), 100);
    else if (event.kind === 'rollback' && nth !== undefined) {
      await rollBack(run.store, findSealed(run.store, String(nth.manifest.step))).catch(() => {});
      attempt = await startAttempt(run.store, { gang: `${index + 1}` });
    }
  }
}

it('verify --last-good and resume name the same checkpoint after any change of the run', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(EVENTS, { minLength: 1, maxLength: 8 }), async (events) => {
      using run = testRun();
      await play(run, events);
      for (const level of ['auto', 'deep'] as const) {
        const options = level === 'deep' ? ['--deep'] : [];
        const { stdout } = await runCommand(['resume', '--look-only', '--json', ...options, run.path]);
        const resumed = JSON.parse(stdout) as { lastGood: { path: string } | null; startsFresh: boolean };
        if (resumed.startsFresh) continue;
        expect((await verify(run.path, ...options)).lastGood, level).toBe(resumed.lastGood?.path ?? null);
      }
    }),
    { numRuns: 25 },
  );
});

it('a file with a rank in its name has no step', async () => {
  using run = testRun();
  mkdirSync(join(run.path, 'out'));
  cpSync(join(TRAINER, 'rng_state.pth'), join(run.path, 'out/rank-1.pt'));
  writeFileSync(join(run.path, 'out/notes.txt'), '');
  expect((await verify(join(run.path, 'out'))).checkpoints).toMatchObject([{ step: null }]);
});
