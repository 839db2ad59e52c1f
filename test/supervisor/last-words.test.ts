import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { LastWords } from '../support/last-words.ts';
import { runCommand } from '../support/run-command.ts';
import { Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

describe('the termination message of a run that has no trainer', () => {
  it('is written at the notice, and again at the end, while the run waits for another node', async () => {
    using folder = tempFolder();
    using words = new LastWords(folder.path);
    const args = ['--dir', join(folder.path, 'run'), '--nodes=2', '--node-rank=1', '--gang=g', '--termination-log', words.path];
    const run = new Supervised({ args, command: ['true'] });
    await run.line(/waiting for the first node/);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
    const facts = {
      cause: 'sigterm',
      deadlineMs: expect.any(Number) as number,
      run: expect.any(String) as string,
      attempt: null,
      trainer: null,
    };
    expect(words.take()).toMatchObject([
      { ...facts, provisional: true, exitCode: null, end: null, sentence: 'SIGTERM; no trainer runs' },
      { ...facts, provisional: false, exitCode: 143, end: 'interrupted' },
    ]);
  });

  it('reports a notice that comes during the fetch of a checkpoint, and so does the ledger of the attempt', async () => {
    using folder = tempFolder();
    using words = new LastWords(folder.path);
    const [dir, url] = [join(folder.path, 'run'), `file://${join(folder.path, 'copies')}`];
    mkdirSync(join(dir, 'step-5'), { recursive: true });
    writeFileSync(join(dir, 'step-5/state'), Buffer.alloc(16 << 20));
    expect((await runCommand(['seal', '--accept=anything', join(dir, 'step-5')])).code).toBe(0);
    expect((await runCommand(['ship', dir, url])).code).toBe(0);
    rmSync(dir, { recursive: true });
    // The fetch would take a quarter of an hour.
    const args = ['--dir', dir, '--ship', url, '--ship-limit', '16KiB/s', '--termination-log', words.path];
    const run = new Supervised({ args, command: ['true'] });
    await run.line(/fetching step 5/);
    run.signal('SIGINT');
    expect((await run.ended).code).toBe(143);
    const told = { exitCode: 143, end: 'interrupted', cause: 'ctrl-c' };
    const attempt = expect.any(Number) as number;
    expect(words.take().at(-1)).toMatchObject({ ...told, provisional: false, attempt, trainer: null });
    const ends = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'attempt-ended' ? [event] : []));
    expect(ends).toMatchObject([{ ...told, lostMs: 0 }]);
  });

  it('does not claim that nothing is lost when the trainer never reported progress', async () => {
    using folder = tempFolder();
    using words = new LastWords(folder.path);
    const dir = join(folder.path, 'run');
    const run = new Supervised({
      args: ['--dir', dir, '--termination-log', words.path],
      command: ['sh', '-c', 'echo ready; exec sleep 1000'],
    });
    await run.line(/^ready/);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
    expect(words.take().at(-1)).toMatchObject({ exitCode: 143, step: null, lostMs: null, lostSteps: null });
    expect((await runCommand(['log', dir])).stdout).toMatch(/loss unknown/);
  });

  it('names the steps of a finished run that are in no checkpoint', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const { code, stderr } = await new Supervised({
      args: ['--dir', dir, '--every=1h'],
      command: trainerCommand('exits', 'sdk', { steps: 5 }),
    }).ended;
    expect([code, stderr]).toEqual([0, expect.stringContaining('finished; nothing is sealed') as string]);
  });

  it('reports a notice that comes while the run waits to restart the trainer', async () => {
    using folder = tempFolder();
    using words = new LastWords(folder.path);
    // The wait doubles from one attempt to the next, so the fourth one is long enough for a busy
    // machine.
    const args = ['--dir', join(folder.path, 'run'), '--restarts=9', '--termination-log', words.path];
    const run = new Supervised({ args, command: ['sh', '-c', 'exit 3'] });
    await run.line(/restarts from the beginning in /, 4);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
    const left = words.take();
    const facts = { trainer: { code: 3 }, cause: 'sigterm' };
    expect(left.slice(-2)).toMatchObject([
      { ...facts, provisional: true, exitCode: null, end: null },
      { ...facts, provisional: false, exitCode: 143, end: 'interrupted' },
    ]);
    expect(left.slice(0, -2).every(({ exitCode, end }) => exitCode === 3 && end === 'failed')).toBe(true);
  });

  it.each<[string, readonly string[], number, RegExp]>([
    ['an option that does not exist', ['--graze=5s'], 64, /^USAGE: unknown option --graze/],
    ['a value without its unit', ['--grace', '5'], 64, /^USAGE: option --grace: /],
    ['options that do not go together', ['--on-hang=restart'], 64, /^USAGE: --on-hang=restart needs restarts/],
    ['an option that run does not have', ['--json'], 64, /^USAGE: option --json: run has no result/],
  ])('reports %s', async (_, args, exitCode, sentence) => {
    using folder = tempFolder();
    using words = new LastWords(folder.path);
    const dir = join(folder.path, 'run');
    // The arguments after the dashes belong to the trainer.
    const command = ['true', '--termination-log', join(folder.path, 'elsewhere')];
    const { code } = await new Supervised({ args: ['--dir', dir, '--termination-log', words.path, ...args], command }).ended;
    expect(code).toBe(exitCode);
    const facts = { provisional: false, end: 'refused', run: null, attempt: null, trainer: null, cause: null };
    expect(words.take()).toMatchObject([{ ...facts, exitCode, sentence: expect.stringMatching(sentence) as string }]);
    expect(readdirSync(folder.path)).toEqual(['last-words']);
  });

  it('says why the run started no trainer', async () => {
    using folder = tempFolder();
    using words = new LastWords(folder.path);
    const start = (dir: string, command: string): Promise<{ readonly code: number | null }> =>
      new Supervised({ args: ['--dir', join(folder.path, dir), '--termination-log', words.path], command: [command] }).ended;
    expect((await start('run', 'no-such-program-here')).code).toBe(127);
    mkdirSync(join(folder.path, 'spoilt'));
    writeFileSync(join(folder.path, 'spoilt/.holdfast'), 'a file');
    const { code } = await start('spoilt', 'true');
    const refused = { provisional: false, end: 'refused', trainer: null, cause: null };
    expect(words.take()).toMatchObject([
      { ...refused, exitCode: 127, sentence: expect.stringMatching(/^COMMAND_NOT_FOUND: /) as string },
      { ...refused, exitCode: code },
    ]);
  });
});
