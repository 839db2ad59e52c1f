import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bash, LAUNCHER, runProcess } from '../support/run-process.ts';
import { isAlive, Supervised, trainerCommand, whyNoNamespace } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** Runs a command to its end in a new run. */
async function holdfastRun(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  using folder = tempFolder();
  return await runProcess(LAUNCHER, ['run', '--dir', join(folder.path, 'run'), ...args], { env: { PATH: process.env['PATH'], ...env } });
}

describe('the exit code of a run', () => {
  it.each([
    ['0 of a trainer that is done', 'exit 0', 0],
    ['the trainer’s own', 'exit 42', 42],
    ['128 + n when signal n killed it', 'kill -9 $$', 137],
    ['143 after a SIGTERM that the trainer sent itself, without a notice', 'kill -15 $$', 143],
    ['128 + n also for a signal that Node.js has no name for', 'kill -40 $$', 168],
    ['128 + 64 after the last signal, through another program', 'exec sh -c "kill -64 \\$\\$"', 192],
  ])('is %s', async (_, script, code) => {
    expect((await holdfastRun(['--', 'sh', '-c', script])).code).toBe(code);
  });

  it('is 128 + n also if forked workers outlive the trainer', async () => {
    // A running worker has closed the socket. A worker that was forked just now may still hold it.
    const script = [
      'import os, signal, holdfast',
      'run, (reads, writes) = holdfast.attach(), os.pipe()',
      'if os.fork() == 0: os.write(writes, b"x"); signal.pause()',
      'os.read(reads, 1)',
      'os.kill(os.getpid(), 40)',
    ];
    expect((await holdfastRun(['--', 'python3', '-c', script.join('\n')])).code).toBe(168);
  });

  it('is the trainer’s own also with a low limit of open files', async () => {
    using folder = tempFolder();
    const within = ['bash', '-c', 'ulimit -n 90; exec "$@"', 'bash'];
    const run = new Supervised({ args: ['--dir', join(folder.path, 'run')], command: ['sh', '-c', 'exit 42'], within });
    expect((await run.ended).code).toBe(42);
  });

  it('is 0 for a trainer that reports that it is finished, and 143 for one that exits with 0 after SIGTERM', async () => {
    using folder = tempFolder();
    const run = new Supervised({ args: ['--dir', join(folder.path, 'run')], command: trainerCommand('dies', 'sdk', { steps: 20 }) });
    expect(await run.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('finished 190') as string });
  });
});

describe('a command that cannot be run', () => {
  it.each([
    ['a program that is not there', ['no-such-program-here'], 127, 'COMMAND_NOT_FOUND'],
    ['a path that is not there', ['/nonexistent/train.sh'], 127, 'COMMAND_NOT_FOUND'],
    ['a folder', ['/tmp'], 126, 'COMMAND_NOT_EXECUTABLE'],
  ])('%s is an error of its own, before any attempt begins', async (_, command, code, error) => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const result = await runProcess(LAUNCHER, ['run', '--dir', dir, '--', ...command]);
    expect(result).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(`error ${error}: `) as string });
    expect(await runProcess('ls', [dir])).toMatchObject({ code: 2 });
  });

  it('a file that is not executable is an error with a hint', async () => {
    using folder = tempFolder();
    const script = join(folder.path, 'train.py');
    writeFileSync(script, 'print()');
    chmodSync(script, 0o644);
    expect(await holdfastRun(['--', script])).toMatchObject({ code: 126, stderr: expect.stringContaining('chmod +x') as string });
  });

  it.each([
    [['--grace', '5'], 64, 'has a number without a unit'],
    [['--every', '10'], 64, 'has no unit'],
    [['--every', 'sometimes'], 64, 'is not a cadence'],
    [['--restarts', 'many'], 64, 'is not how many restarts'],
  ])('the options %j are refused', async (options, code, text) => {
    expect(await holdfastRun([...options, '--', 'true'])).toMatchObject({ code, stderr: expect.stringContaining(text) as string });
  });

  it('a grace in the environment without a unit is refused', async () => {
    const result = await holdfastRun(['--', 'true'], { HOLDFAST_GRACE: '5' });
    expect(result).toMatchObject({ code: 64, stderr: expect.stringContaining('HOLDFAST_GRACE') as string });
  });

  it('a missing command after -- is a usage error', async () => {
    expect(await holdfastRun([])).toMatchObject({ code: 64, stderr: expect.stringContaining('COMMAND is missing') as string });
  });
});

describe('the streams of the trainer', () => {
  it('are the supervisor’s own: the trainer reads its input, and every byte of output arrives', async () => {
    using folder = tempFolder();
    const { code, stdout } = await bash(
      `printf 'a b\\n' | ${LAUNCHER} run --dir ${folder.path}/run -- sh -c 'cat; seq 1 100000; printf no-newline' | tail -c 17`,
    );
    expect([code, stdout]).toEqual([0, '100000\nno-newline'.slice(-17)]);
  });

  it('stay a terminal', async () => {
    using folder = tempFolder();
    const line = `${LAUNCHER} run --dir ${folder.path}/run -- sh -c 'test -t 0 && test -t 1 && test -t 2 && echo three terminals'`;
    const { stdout } = await runProcess('script', ['-qec', line, '/dev/null']);
    expect(stdout).toContain('three terminals');
  });
});

describe('the processes of the trainer', () => {
  it('lead a session of their own', async () => {
    const { stdout } = await holdfastRun(['--', 'sh', '-c', 'cut -d" " -f1,6 /proc/$$/stat']);
    const [pid, session] = stdout.trim().split(' ');
    expect(session).toBe(pid);
  });

  it('that outlive it are ended, also in another session and without their parent', async () => {
    const daemon = `setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 1000; done'`;
    const { code, stdout, stderr } = await holdfastRun(['--', 'bash', '-c', `exec 3< <(${daemon}); read -r pid <&3; echo "$pid"; exit 7`]);
    expect({ code, stderr }).toEqual({ code: 7, stderr: expect.stringContaining('left behind') as string });
    expect(isAlive(Number(stdout.trim()))).toBe(false);
  });

  it.skipIf(whyNoNamespace() !== null)('that lost their parent leave no zombies if Holdfast is PID 1', async () => {
    using folder = tempFolder();
    // Each subshell leaves an orphan behind that ends at once. The file shows when all have ended.
    const script = `
      for i in $(seq 1 20); do sh -c '(echo x >> "$0") & :' ${folder.path}/ends; done
      until [ "$(wc -l < ${folder.path}/ends)" = 20 ]; do :; done
      for try in $(seq 1 5000); do
        zombies=$(grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l)
        [ "$zombies" = 0 ] && exit 0
        sleep 0.02
      done
      exit 9`;
    mkdirSync(join(folder.path, 'run'));
    const run = new Supervised({ args: ['--dir', join(folder.path, 'run')], command: ['bash', '-c', script], isFirst: true });
    expect(await run.ended).toMatchObject({ code: 0 });
  });

  it.skipIf(whyNoNamespace() !== null)('pass their exit code through the launcher if Holdfast is PID 1', async () => {
    using folder = tempFolder();
    const codes = [];
    for (const script of ['exit 127', 'exit 42', 'kill -9 $$', 'read -r line && exit "$line"']) {
      const child = spawn(
        'unshare',
        ['--pid', '--fork', '--mount-proc', LAUNCHER, 'run', '--dir', join(folder.path, 'run'), '--', 'sh', '-c', script],
        {
          stdio: ['pipe', 'ignore', 'ignore'],
        },
      );
      child.stdin.end('33\n');
      codes.push(await new Promise((resolve) => child.on('exit', resolve)));
    }
    expect(codes).toEqual([127, 42, 137, 33]);
  });
});
