import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { lastGood } from '../../src/store/resume/last-good.ts';
import { readRun } from '../../src/store/folder/store.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { FRAMEWORKS, familyOf, installFrameworks, output } from './support/python.ts';

const SCRIPT = 'trainers/watched_trainer.py';
const ENV = { OMP_NUM_THREADS: '1', CUDA_VISIBLE_DEVICES: '' };
const STEPS = 60;

let python: string;
let twin: string;
beforeAll(async () => {
  python = (await installFrameworks([familyOf(SCRIPT)])).get(familyOf(SCRIPT)) ?? '';
  using folder = tempFolder();
  twin = (await output(python, [join(FRAMEWORKS, SCRIPT), folder.path, String(STEPS)])).trim().split('\n').at(-1) ?? '';
  expect(twin).toMatch(/^finished [0-9a-f]{64}$/);
});

const start = (dir: string): Supervised =>
  new Supervised({
    args: ['--watch', dir, '--resume-arg=--resume', '--grace', '60s'],
    command: [python, join(FRAMEWORKS, SCRIPT), dir, String(STEPS)],
    env: ENV,
  });

describe('a Hugging Face Trainer with save_total_limit=1 and not a line of Holdfast', () => {
  it('is sealed while it trains, keeps its one save, and ends with the weights of an undisturbed run', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'out');
    mkdirSync(dir);
    const hold = join(dir, 'hold');
    writeFileSync(hold, '');
    const first = start(dir);
    await first.line(/sealed step 5 /);
    first.signal('SIGTERM');
    const { code, stderr } = await first.ended;
    expect({ code, stderr }).toEqual({ code: 143, stderr: expect.stringContaining('interrupted, resumable') as string });
    expect((await lastGood(readRun(dir), { level: 'deep' })).checkpoint?.manifest).toMatchObject({ step: 5, format: 'hf-trainer' });

    rmSync(hold);
    const second = await start(dir).ended;
    expect([second.code, second.stdout.split('\n').at(-1)]).toEqual([0, twin]);
    expect(second.stdout).toContain('start 5\n');
    // Its own rotation deleted the older save with its seal, and its last save is sealed.
    expect(readdirSync(dir).filter((name) => name.startsWith('checkpoint-'))).toEqual([`checkpoint-${STEPS}`]);
    expect((await lastGood(readRun(dir), { level: 'deep' })).checkpoint?.manifest.step).toBe(STEPS);
    expect(second.stderr).toContain('keeps only one save');
  });
});
