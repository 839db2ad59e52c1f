import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { LAUNCHER, runProcess } from './support/run-process.ts';
import { tempFolder } from './support/temp-folder.ts';

/** Starts a long measurement and sends it signals after its start. */
async function interrupt(folder: string, signals: readonly NodeJS.Signals[]): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(LAUNCHER, ['probe', '--rounds=1000', '--progress=json', folder], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8');
  await new Promise<void>((resolve) => child.stderr.on('data', (text: string) => ((stderr += text), resolve())));
  expect(readdirSync(folder)).toHaveLength(1);
  for (const signal of signals) child.kill(signal);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}

describe('holdfast probe as a process', () => {
  it('fits on one screen', async () => {
    using folder = tempFolder();
    const { code, stdout, stderr } = await runProcess(LAUNCHER, ['probe', '--bytes=1MiB', '--rounds=2', folder.path]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toContain(folder.path);
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
    for (const term of [
      'file system',
      'survives the pod',
      'survives a power cut',
      'commit',
      'room for saves',
      'write and sync',
      'sync of 4 KiB',
    ]) {
      expect(stdout).toContain(`  ${term} `);
    }
  });

  it('prints only the protocol and the folder with --quiet', async () => {
    using folder = tempFolder();
    const { stdout } = await runProcess(LAUNCHER, ['probe', '--quick', '--quiet', folder.path]);
    expect(stdout).toMatch(/^(rename|manifest-last) {2}\//);
  });

  it.each([
    ['--eviction-line=ten', 'option --eviction-line: "ten" is not an eviction line'],
    ['--bytes=1kB', 'option --bytes: "1kB" is too small to measure'],
    ['--rounds=0', 'option --rounds: "0" is not a number of rounds'],
  ])('refuses %s with the rule', async (option, message) => {
    const { code, stderr } = await runProcess(LAUNCHER, ['probe', option, '/']);
    expect(code).toBe(64);
    expect(stderr).toContain(message);
  });

  it('fails on an unreadable limit instead of guessing', async () => {
    const env = { PATH: process.env['PATH'], HOLDFAST_EPHEMERAL_LIMIT: 'plenty' };
    const { code, stderr } = await runProcess(LAUNCHER, ['probe', '--quick', '.'], { env });
    expect([code, stderr]).toEqual([64, expect.stringContaining('error SETTING_INVALID: HOLDFAST_EPHEMERAL_LIMIT: "plenty"')]);
  });

  it.each([
    ['Ctrl-C', ['SIGINT'], 130],
    ['SIGTERM', ['SIGTERM'], 143],
    ['a second Ctrl-C', ['SIGINT', 'SIGINT'], 130],
  ] as const)('leaves nothing behind after %s', async (_, signals, code) => {
    using folder = tempFolder();
    expect((await interrupt(folder.path, signals)).code).toBe(code);
    expect(readdirSync(folder.path)).toEqual([]);
  });
});
