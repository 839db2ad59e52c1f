import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lastGood } from '../../src/store/resume/last-good.ts';
import { readRun } from '../../src/store/folder/store.ts';
import type { EventOf } from '../../src/ledger/events.ts';
import { readLedger } from '../../src/ledger/reader.ts';
import { mountTmpfs, whyNoMounts } from '../support/mounts.ts';
import { ROOT } from '../support/run-process.ts';
import { Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

const MEMORY = '/dev/shm';
const STEPS = 50;
const SUM = (STEPS * (STEPS - 1)) / 2;
/** The first save shows how large one is; from the second on they go to memory first. */
const HELD = 20;

const goodStep = async (dir: string): Promise<number | null> => (await lastGood(readRun(dir))).checkpoint?.manifest.step ?? null;
const saveEnds = (dir: string): readonly EventOf<'save-ended'>[] =>
  readLedger(dir).events.flatMap(({ event }) => (event.kind === 'save-ended' ? [event] : []));

/** A run whose save of a step waits for the gate; everything is removed at the end of the scope. */
function heldRun(held = HELD) {
  const [folder, memory] = [tempFolder(), tempFolder(MEMORY)];
  const [dir, gate] = [join(folder.path, 'run'), join(folder.path, 'gate')];
  const command = ['python3', join(ROOT, 'test/support/trainers/staged.py'), String(STEPS), String(held), gate];
  const args = ['--dir', dir, '--every', '10steps', `--stage=${memory.path}`];
  return {
    dir,
    stage: memory.path,
    start: (more: readonly string[] = []) => new Supervised({ args: [...args, ...more], command }),
    openGate: () => writeFileSync(gate, ''),
    [Symbol.dispose]: () => {
      folder[Symbol.dispose]();
      memory[Symbol.dispose]();
    },
  };
}

async function trainerPid(run: Supervised): Promise<number> {
  return Number((await run.line(/^start /)).split(' ')[2]);
}

describe.skipIf(!existsSync(MEMORY))('a save that is written to memory first', () => {
  it('is copied and sealed while the trainer continues, and its memory is freed', async () => {
    using run = heldRun(-1);
    const { code, stdout } = await run.start().ended;
    expect([code, stdout.split('\n').at(-1)]).toEqual([0, `finished ${SUM}`]);
    const places = [...stdout.matchAll(/^writing \d+ (.*)$/gm)].map(([, path]) => path?.startsWith(run.stage));
    expect(places).toEqual([false, true, true, true]);
    const ends = saveEnds(run.dir);
    expect(ends.map(({ outcome, copyMs }) => [outcome, copyMs !== null])).toEqual([
      ['sealed', false],
      ['sealed', true],
      ['sealed', true],
      ['sealed', true],
    ]);
    for (const { checksumMs, commitMs } of ends) expect([checksumMs, commitMs]).not.toContain(null);
    expect(readdirSync(run.stage)).toEqual([]);
  });

  it('is sealed even if the trainer dies right after its hand-over', async () => {
    using run = heldRun();
    const only = run.start();
    const pid = await trainerPid(only);
    await only.line(new RegExp(`^writing ${HELD} ${run.stage}`));
    only.signal('SIGSTOP');
    run.openGate();
    await only.line(new RegExp(`^handed ${HELD}`));
    process.kill(pid, 'SIGKILL');
    only.signal('SIGCONT');
    expect((await only.ended).code).toBe(137);
    expect(await goodStep(run.dir)).toBeGreaterThanOrEqual(HELD);
    expect(readdirSync(run.stage)).toEqual([]);
  });

  it('is adopted by the next attempt if all processes died between its hand-over and its seal', async () => {
    using run = heldRun();
    const first = run.start();
    const pid = await trainerPid(first);
    await first.line(new RegExp(`^writing ${HELD} ${run.stage}`));
    first.signal('SIGSTOP');
    run.openGate();
    await first.line(new RegExp(`^handed ${HELD}`));
    // The trainer may not reach its next save, so only the save that it handed over counts.
    process.kill(pid, 'SIGKILL');
    first.kill();
    await first.ended;
    expect(await goodStep(run.dir)).toBe(10);
    const { code, stdout, stderr } = await run.start().ended;
    expect(stderr).toMatch(new RegExp(`sealed step ${HELD} .* which an earlier run of the supervisor left in memory`));
    expect([code, stdout.split(' ')[1], stdout.split('\n').at(-1)]).toEqual([0, String(HELD + 1), `finished ${SUM}`]);
    expect(saveEnds(run.dir).filter(({ step, outcome }) => step === HELD && outcome === 'sealed')).toHaveLength(1);
    expect(readdirSync(run.stage)).toEqual([]);
  });

  it('is freed and reported as lost if all processes died before its hand-over', async () => {
    using run = heldRun();
    const first = run.start();
    const pid = await trainerPid(first);
    await first.line(new RegExp(`^writing ${HELD} ${run.stage}`));
    first.kill();
    process.kill(pid, 'SIGKILL');
    await first.ended;
    run.openGate();
    const { code, stdout, stderr } = await run.start().ended;
    expect(stderr).toMatch(new RegExp(`warning: step ${HELD} was in memory and is lost: its writer ended before the hand-over`));
    expect([code, stdout.split(' ')[1], stdout.split('\n').at(-1)]).toEqual([0, '11', `finished ${SUM}`]);
    expect(saveEnds(run.dir).filter(({ outcome }) => outcome === 'lost')).toMatchObject([{ step: HELD }]);
    expect(readdirSync(run.stage)).toEqual([]);
  });

  it('is adopted if only the supervisor died while its trainer continues', async () => {
    using run = heldRun();
    const first = run.start();
    await first.line(new RegExp(`^writing ${HELD} ${run.stage}`));
    first.kill();
    run.openGate();
    // The trainer shares the streams, so they end when it does.
    expect((await first.ended).stdout.split('\n').at(-1)).toBe(`finished ${SUM}`);
    const { code, stdout, stderr } = await run.start().ended;
    expect(stderr).toMatch(new RegExp(`sealed step ${HELD} .* which an earlier run of the supervisor left in memory`));
    expect([code, stdout.split(' ')[1], stdout.split('\n').at(-1)]).toEqual([0, String(HELD + 1), `finished ${SUM}`]);
  });

  it.each([[['--stage=off']], [[]]])(
    'is abandoned early if it is too slow for the deadline, and the last good checkpoint stays (%s)',
    async (more) => {
      using run = heldRun();
      const only = run.start(['--grace=20s', ...more]);
      await only.line(new RegExp(`^writing ${HELD} `));
      only.signal('SIGTERM');
      const { code, stderr } = await only.ended;
      expect(stderr).toMatch(/gave the flush up: 10 % written in .*, the rest needs .* are left/);
      expect(code).toBe(143);
      expect(await goodStep(run.dir)).toBe(10);
      const events = readLedger(run.dir).events.map(({ event }) => event);
      expect(events.find(({ kind }) => kind === 'flush-ended')).toMatchObject({ outcome: 'abandoned' });
      expect(saveEnds(run.dir).at(-1)).toMatchObject({ step: HELD, outcome: 'abandoned' });
      expect(readdirSync(run.stage)).toEqual([]);
    },
  );

  it('that is sealed just before a notice is followed by the flush, even while its memory is being freed', async () => {
    using run = heldRun(-1);
    const args = ['--dir', run.dir, '--every=1h', '--keep=1', '--grace=60s', `--stage=${run.stage}`];
    const only = new Supervised({ args, command: trainerCommand('exits', 'sdk') });
    await only.line(/^ready/);
    // The first shows how large a save is; the second lies in memory.
    for (const count of [1, 2]) {
      only.signal('SIGUSR1');
      await only.line(/sealed step/, count);
    }
    only.signal('SIGTERM');
    expect((await only.ended).code).toBe(143);
    const events = readLedger(run.dir).events.map(({ event }) => event);
    expect(events.find(({ kind }) => kind === 'flush-ended')).toMatchObject({ outcome: 'made' });
    expect(saveEnds(run.dir).map(({ outcome }) => outcome)).toEqual(['sealed', 'sealed', 'sealed']);
  });

  it('is written to the disk when staging is off', async () => {
    using run = heldRun(-1);
    const [dir, file] = [join(run.stage, 'a'), join(run.stage, 'b')];
    const trainer = ['python3', join(ROOT, 'test/support/trainers/staged.py'), '25', '-1', file];
    mkdirSync(dir);
    const { code, stdout } = await new Supervised({ args: ['--dir', dir, '--every', '10steps', '--stage=off'], command: trainer }).ended;
    expect([code, stdout.match(/^writing \d+ .*$/gm)?.every((line) => line.includes(dir))]).toEqual([0, true]);
    rmSync(dir, { recursive: true });
  });
});

it.skipIf(whyNoMounts() !== null)(
  'a save goes straight to the disk if memory has no room for it, and the reason is logged once',
  async () => {
    using folder = tempFolder();
    using memory = mountTmpfs('size=1m');
    const command = ['python3', join(ROOT, 'test/support/trainers/staged.py'), String(STEPS), '-1', 'no-gate'];
    const args = ['--dir', join(folder.path, 'run'), '--every', '10steps', `--stage=${memory.path}`];
    const { code, stdout, stderr } = await new Supervised({ args, command }).ended;
    expect([code, stdout.match(/^writing /gm)?.length, stdout.includes(memory.path)]).toEqual([0, 4, false]);
    expect(stderr.match(/saves go directly to the disk, not to memory first: a save needs 1\.19 MiB, and 1 MiB are left/g)).toHaveLength(1);
  },
);

it.each([
  ['--stage', ['--stage=/proc'], {}, 'option --stage: /proc does not lie in memory'],
  ['HOLDFAST_STAGE', [], { HOLDFAST_STAGE: '/not/there' }, 'HOLDFAST_STAGE: /not/there cannot be used: ENOENT'],
])('%s that names no place in memory is refused before anything starts', async (_, args, env, reason) => {
  using folder = tempFolder();
  const { code, stderr } = await new Supervised({ args: ['--dir', join(folder.path, 'run'), ...args], command: ['true'], env }).ended;
  expect(code).toBe(64);
  expect(stderr).toContain(reason);
});
