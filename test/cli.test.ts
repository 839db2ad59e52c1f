import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { bash, LAUNCHER, ROOT, runProcess } from './support/run-process.ts';

const PATH = process.env['PATH'];

describe('the command line as a process', () => {
  it('writes results to standard output and errors to standard error, with the exit code of the table', async () => {
    expect(await runProcess(LAUNCHER, ['explain', 'USAGE', '--json'])).toMatchObject({ code: 0, stderr: '' });
    expect(await runProcess(LAUNCHER, ['explain', 'USEAGE'])).toMatchObject({ code: 64, stdout: '' });
  });

  it('explains verdicts, exit codes and causes, and suggests the nearest word of any kind', async () => {
    expect((await runProcess(LAUNCHER, ['explain', 'ZOMBIE'])).stdout).toContain('DEEPSPEED_LEFTOVER_RANK');
    expect((await runProcess(LAUNCHER, ['explain', '143'])).stdout).toContain('podFailurePolicy: Ignore');
    expect((await runProcess(LAUNCHER, ['explain', 'eviction-hard'])).stdout).toContain('leaves 2 seconds');
    const { code, stderr } = await runProcess(LAUNCHER, ['explain', 'azure-premept']);
    expect([code, stderr]).toEqual([64, expect.stringContaining('Did you mean azure-preempt?')]);
  });

  it('writes no colours into a pipe, unless FORCE_COLOR is set', async () => {
    const colored = /\u001b\[/;
    expect((await runProcess(LAUNCHER, ['help'])).stdout).not.toMatch(colored);
    expect((await runProcess(LAUNCHER, ['help'], { env: { PATH, FORCE_COLOR: '1' } })).stdout).toMatch(colored);
    expect((await runProcess(LAUNCHER, ['help', '--no-color'], { env: { PATH, FORCE_COLOR: '1' } })).stdout).not.toMatch(colored);
  });

  it('ends quietly with 141 when the reader of its output closes the pipe', async () => {
    const child = spawn(LAUNCHER, ['explain', '--quiet'], { env: { PATH }, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (text) => (stderr += String(text)));
    const [code] = (await once(child, 'close')) as [number];
    expect([code, stderr]).toEqual([141, '']);
  });

  it('reports the error and exits with 74 when its output cannot be written', async () => {
    const { code, stderr } = await bash(`${LAUNCHER} explain --quiet > /dev/full`);
    expect(code).toBe(74);
    expect(stderr).toBe('error OUTPUT_FAILED: standard output cannot be written: ENOSPC\n');
  });

  it('continues when standard error is closed', async () => {
    expect((await bash(`${LAUNCHER} explain USAGE 2>&-`)).code).toBe(0);
  });

  it('refuses --json for a command without a JSON result, and starts nothing', async () => {
    const refused = await runProcess(LAUNCHER, ['run', '--json', '--', 'echo', 'started']);
    expect(refused).toMatchObject({ code: 64, stdout: '' });
    expect(JSON.parse(refused.stderr)).toMatchObject({ error: { code: 'USAGE', message: expect.stringContaining('--json') as string } });
  });

  it('prints no stack trace and no internal path for a path that does not exist', async () => {
    const { code, stderr } = await runProcess(LAUNCHER, ['verify', '/nowhere/at/all']);
    expect(code).toBe(66);
    expect(stderr).toMatch(/^error PATH_NOT_FOUND: \/nowhere\/at\/all does not exist\n/);
    expect(stderr).not.toMatch(/\bat .*\.ts/);
  });
});

describe('--version', () => {
  it('prints only its name and version', async () => {
    expect(await runProcess(LAUNCHER, ['--version'])).toEqual({ code: 0, stdout: 'holdfast 0.1.0\n', stderr: '' });
  });
});

/** Starts a command that waits to be stopped, and sends it signals as soon as it waits. */
async function stop(script: 'polite' | 'stubborn', signals: readonly NodeJS.Signals[]): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(process.execPath, [`${ROOT}test/support/waiting-command.ts`, script], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (text) => (stderr += String(text)));
  // One signal at a time: the process answers each with a line before it gets the next.
  const answers = child.stdout.iterator();
  for (const signal of signals) {
    await answers.next();
    child.kill(signal);
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}

describe('signals to a real process', () => {
  it('Ctrl-C ends a command in order, with 130', async () => {
    expect(await stop('polite', ['SIGINT'])).toEqual({ code: 130, stderr: 'error INTERRUPTED: stopped by Ctrl-C\n' });
  });

  it('SIGTERM ends a command in order, with 143', async () => {
    expect(await stop('polite', ['SIGTERM'])).toEqual({ code: 143, stderr: 'error TERMINATED: stopped by SIGTERM\n' });
  });

  it('a second signal ends a hanging command at once', async () => {
    expect(await stop('stubborn', ['SIGINT', 'SIGINT'])).toEqual({ code: 130, stderr: '' });
  });
});
