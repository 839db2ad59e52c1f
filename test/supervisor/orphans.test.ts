import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { RUNS } from '../support/marked-processes.ts';
import { LAUNCHER, ROOT } from '../support/run-process.ts';
import { isAlive, Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { trainerPid } from '../support/trainer-process.ts';

const RANKS = ['python3', join(ROOT, 'test/support/trainers/ranks.py'), '2', '1000000'];

/**
 * Starts a run in this folder whose supervisor is killed, with all the processes that it leaves
 * behind.
 */
function start(folder: string, command: readonly string[], ...args: readonly string[]): Supervised {
  const dir = join(folder, 'run');
  return new Supervised({ args: ['--dir', dir, '--stage=off', '--every=10steps', ...args], command, env: { TMPDIR: folder } });
}

async function kill(run: Supervised): Promise<void> {
  run.kill();
  await run.died;
}

async function end(run: Supervised): Promise<void> {
  run.signal('SIGTERM');
  expect((await run.ended).code).toBe(143);
}

describe.runIf(process.platform === 'linux')('a trainer that outlived its supervisor', () => {
  // A failed test leaves processes behind that have no parent to reap them.
  afterEach(() => RUNS.end());

  it('is ended by the next supervisor in its folder, before this one starts its own trainer', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const first = start(folder.path, trainerCommand('dies', 'sdk'));
    await first.line(/sealed step 10 /);
    const pid = await trainerPid(dir);
    await kill(first);
    expect(isAlive(pid)).toBe(true);
    const second = start(folder.path, trainerCommand('dies', 'sdk'));
    await second.line(/^ready/);
    expect(isAlive(pid)).toBe(false);
    await second.line(new RegExp(`warning: the trainer of attempt 1 \\(process ${pid}\\) survived its supervisor, which was killed`));
    const notes = readLedger(dir).events.flatMap(({ attempt, event }) => (event.kind === 'note' ? [[attempt, event.sentence]] : []));
    expect(notes).toContainEqual([2, expect.stringContaining('survived its supervisor, which was killed')]);
    await end(second);
    await first.ended;
  });

  it('is ended with its ranks, and killed if it does not end within the grace', async () => {
    using folder = tempFolder();
    const first = start(folder.path, RANKS);
    const ranks = [(await first.line(/^start 0 /)).split(' ')[3], (await first.line(/^start 1 /)).split(' ')[3]].map(Number);
    await kill(first);
    // They ignore every signal.
    for (const pid of ranks) process.kill(pid, 'SIGSTOP');
    const second = start(folder.path, RANKS, '--grace=300ms');
    await second.line(/warning: the leftover trainer did not end within 300ms and was killed/);
    await second.line(/^ready/);
    expect(ranks.filter(isAlive)).toEqual([]);
    await end(second);
    await first.ended;
  });

  it('is not confused with the shell that starts the next supervisor', async () => {
    using folder = tempFolder();
    // Its supervisor is the parent of the shell, and the shell kills it. The next supervisor has
    // the shell's environment.
    const script = 'kill -9 $PPID; "$0" run --dir "$1" --stage=off -- echo trains; echo "the shell lives, $?"';
    const run = start(folder.path, ['sh', '-c', script, LAUNCHER, join(folder.path, 'run')]);
    const { stdout, stderr } = await run.ended;
    expect(stdout).toMatch(/^trains\nthe shell lives, 0$/);
    expect(stderr).not.toContain('lived on');
  });
});
