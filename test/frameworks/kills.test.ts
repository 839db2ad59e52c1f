import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRng } from '../../src/core/rng.ts';
import { IS_WHOLE } from '../support/slice.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { type KillRow, writeKillMatrix } from './support/kill-document.ts';
import { isGood, type Kill, KillRun, type WholeSave } from './support/kill-run.ts';
import { makeLargestSparse } from './support/largest-file.ts';
import { compiledIn, Conversation, FRAMEWORKS, familyOf, installFrameworks } from './support/python.ts';

/** Every writer that is killed, by the module that serves it, with the number of its ranks. */
const MODULES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'writers/torch_files.py': { 'torch-zip': 1, 'torch-legacy': 1, safetensors: 1, dcp: 1, torchsnapshot: 1 },
  'writers/torch_ranks.py': { 'dcp-2-ranks': 2, 'megatron-dist': 2, deepspeed: 2 },
  'writers/trainers.py': { 'hf-trainer': 1, accelerate: 1, lightning: 1 },
  'writers/jax_files.py': {
    orbax: 1,
    keras: 1,
    'keras-weights-h5': 1,
    hdf5: 1,
    'hdf5-latest': 1,
    npz: 1,
    'flax-msgpack': 1,
    'flax-bytes': 1,
    gguf: 1,
  },
  'writers/tensorflow_files.py': { tensorflow: 1 },
};

/** So many kills must hit a save that was not finished; the recorded page has 20 of each writer. */
const LANDED = IS_WHOLE ? 20 : 4;
const MAX_KILLS = IS_WHOLE ? 60 : 30;
const SEED = 20;

const rows: KillRow[] = [];
let pythons: ReadonlyMap<string, string>;
beforeAll(async () => {
  pythons = await installFrameworks();
});
afterAll(() => {
  const isWhole = rows.length === Object.values(MODULES).flatMap((writers) => Object.keys(writers)).length;
  if (process.env['UPDATE_DOCS'] === '1' && isWhole) writeKillMatrix(rows, SEED);
});

describe.each(Object.entries(MODULES))('%s', (module, writers) => {
  // Made here and not at collection, because tests that are filtered out would never remove it.
  let compiled: ReturnType<typeof tempFolder>;
  let process: Conversation;
  beforeAll(async () => {
    compiled = tempFolder();
    process = new Conversation(pythons.get(familyOf(module)) ?? 'python3', [join(FRAMEWORKS, module)], compiledIn(compiled.path));
    expect(await process.next()).toEqual({ writers: Object.keys(writers) });
  });
  afterAll(() => {
    process.close();
    compiled[Symbol.dispose]();
  });

  it.each(Object.entries(writers))('%s killed in the middle of a save leaves nothing that is called good', async (writer, ranks) => {
    using scratch = tempFolder();
    const run = new KillRun(process, writer, scratch.path);
    const rng = createRng(SEED).fork(writer);
    const kills: Kill[] = [];
    let sparse: KillRow['sparse'] | null = null;
    const whole = await run.whole(async (folder, load) => {
      sparse = await makeLargestSparse(folder, load);
    });
    expect(whole.quick).toMatch(/^(UNCHECKED|WEIGHTS_ONLY)$/);
    expect(whole.deep).toMatch(/^(RESUMABLE|UNCHECKED|WEIGHTS_ONLY)$/);
    while (landed(kills).length < LANDED && kills.length < MAX_KILLS) kills.push(await run.kill(whole, rng, ranks));

    expect(landed(kills).filter(({ quick, deep }) => [...quick, ...deep].some((verdict) => isGood(verdict, whole)))).toEqual([]);
    expect(kills.filter((kill) => kill.isComplete && !isAsWhole(kill, whole))).toEqual([]);
    expect(landed(kills).length).toBe(LANDED);
    expect(sparse).not.toBeNull();
    if (sparse !== null) rows.push({ writer, ranks, whole, kills, sparse });
  });
});

function landed(kills: readonly Kill[]): readonly Kill[] {
  return kills.filter(({ isComplete }) => !isComplete);
}

function isAsWhole({ quick, deep }: Kill, whole: WholeSave): boolean {
  return quick.join(' ') === whole.quick && deep.join(' ') === whole.deep;
}
