import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../test/support/run-command.ts';
import { EXIT } from '../../core/exit-codes.ts';
import { GLOBAL_OPTIONS } from '../global-options.ts';
import { parseCommandLine } from '../parse.ts';
import { COMMANDS } from './index.ts';

describe('help', () => {
  it('lists every command with its summary', async () => {
    const { stdout } = await runCommand(['help']);
    for (const { name, summary } of COMMANDS) expect(stdout).toContain(`${name.padEnd(10)}  ${summary}`);
  });

  it('lists every exit code with its meaning, also as JSON', async () => {
    const { stdout } = await runCommand(['help', 'exit-codes']);
    for (const code of Object.values(EXIT)) expect(stdout).toMatch(new RegExp(`^ {2}${code} +[A-Z\`]`, 'm'));
    const { exitCodes } = JSON.parse((await runCommand(['help', 'exit-codes', '--json'])).stdout) as { exitCodes: { code: number }[] };
    expect(exitCodes.map(({ code }) => code)).toEqual(Object.values(EXIT).sort((a, b) => a - b));
  });

  it('is data with --json: the commands, and everything about one', async () => {
    const { commands } = JSON.parse((await runCommand(['help', '--json'])).stdout) as { commands: { name: string }[] };
    expect(commands.map(({ name }) => name)).toEqual(COMMANDS.map(({ name }) => name));
    const verify = (await runCommand(['help', 'verify', '--json'])).stdout;
    expect(JSON.parse(verify)).toMatchObject({ name: 'verify', options: { deep: { kind: 'flag' }, json: { kind: 'flag' } } });
    expect((await runCommand(['verify', '--help', '--json'])).stdout).toBe(verify);
  });

  it('suggests the topic that was meant', async () => {
    const { code, stderr } = await runCommand(['help', 'exit-code']);
    expect(code).toBe(64);
    expect(stderr).toContain('Did you mean exit-codes?');
  });

  it.each(COMMANDS.map(({ name }) => name))('of %s fits 100 columns and is what --help prints', async (name) => {
    const { stdout } = await runCommand(['help', name]);
    expect((await runCommand([name, '--help'])).stdout).toBe(stdout);
    for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100);
  });
});

describe('the table of commands', () => {
  it.each(COMMANDS.map((entry) => [entry.name, entry] as const))('%s has examples that its own parser accepts', async (name, entry) => {
    const command = await entry.load();
    expect(command.examples.length).toBeGreaterThan(0);
    for (const { line } of command.examples) {
      const [first, ...args] = line.split(' > ')[0]?.split(' ') ?? [];
      expect(first).toBe(name);
      expect(() => parseCommandLine(args, { ...GLOBAL_OPTIONS, ...command.options })).not.toThrow();
    }
  });

  it.each(COMMANDS.map((entry) => [entry.name, entry] as const))('%s redefines no option of every command', async (_, entry) => {
    expect(Object.keys((await entry.load()).options).filter((name) => name in GLOBAL_OPTIONS)).toEqual([]);
  });
});
