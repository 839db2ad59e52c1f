import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { FRAMEWORKS, familyOf, installFrameworks } from './support/python.ts';

const SCRIPT = 'trainers/torchrun_ddp.py';
const RANKS = 2;
const STEPS = 3000;
const ENV = { OMP_NUM_THREADS: '1', CUDA_VISIBLE_DEVICES: '' };

let torchrun: string;
let twin: readonly string[];

function start(dir: string, args: readonly string[]): Supervised {
  const command = [torchrun, '--standalone', `--nproc-per-node=${RANKS}`, join(FRAMEWORKS, SCRIPT), String(STEPS)];
  return new Supervised({ args: ['--dir', dir, ...args], command, env: ENV });
}

/** What the ranks print at their end: the checksum of their weights. */
const finished = (stdout: string): readonly string[] =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('finished'))
    .sort();

/** The processes of the ranks and of their launcher end with each other; the launcher is the trainer. */
const endsOf = (dir: string) => readLedger(dir).events.flatMap(({ event }) => (event.kind === 'trainer-ended' ? [event] : []));

beforeAll(async () => {
  const python = (await installFrameworks()).get(familyOf(SCRIPT)) ?? '';
  torchrun = join(dirname(python), 'torchrun');
  using folder = tempFolder();
  const { code, stdout } = await start(join(folder.path, 'run'), ['--every', '1h']).ended;
  twin = finished(stdout);
  expect([code, twin.length]).toEqual([0, RANKS]);
});

describe('data-parallel training under a real torchrun', () => {
  it('that is told to end flushes one step of all ranks, and goes on from it to the same weights, bit for bit', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const first = start(dir, ['--grace', '60s', '--every', '1h']);
    await first.line(/^ready/);
    first.signal('SIGTERM');
    const { code, stderr } = await first.ended;
    expect({ code, stderr }).toEqual({ code: 143, stderr: expect.stringContaining('sealed step') as string });
    // Whatever the launcher made of it, it was not a success of its own.
    expect(endsOf(dir)).toMatchObject([{ saidFinished: false }]);
    const second = await start(dir, ['--grace', '60s', '--every', '1h']).ended;
    expect([second.code, finished(second.stdout)]).toEqual([0, twin]);
    expect(second.stdout).not.toContain('start 0 0');
  });

  it('whose launcher is killed starts again from the last good step to the same weights, its ranks ended first', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const run = start(dir, ['--every', '100steps', '--restarts', '1']);
    await run.line(/sealed step 100 /);
    const launchers = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'trainer-started' ? [event.pid] : []));
    process.kill(launchers[0] ?? 0, 'SIGKILL');
    const { code, stdout } = await run.ended;
    expect([code, finished(stdout)]).toEqual([0, twin]);
  });
});
