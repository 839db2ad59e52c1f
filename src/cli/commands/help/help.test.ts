import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../../test/support/run-command.ts';
import { EXIT } from '../../../core/exit-codes.ts';
import { GLOBAL_OPTIONS } from '../../frame/global-options.ts';
import { parseCommandLine } from '../../frame/parse.ts';
import { withVerbs } from '../../frame/command.ts';
import { COMMANDS } from '../index.ts';

const ALL = await withVerbs(COMMANDS);

/** The command that a line names, with its verb where it has one. */
function commandOf(words: readonly string[]): (typeof ALL)[number] {
  const named = [2, 1].map((count) => ALL.find(({ name }) => name === words.slice(0, count).join(' '))).find(Boolean);
  if (named === undefined) throw new Error(`an example names no command: ${words.join(' ')}`);
  return named;
}

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

  it('prints data with --json: the commands, or everything about one command', async () => {
    const { commands } = JSON.parse((await runCommand(['help', '--json'])).stdout) as { commands: { name: string }[] };
    expect(commands.map(({ name }) => name)).toEqual(COMMANDS.map(({ name }) => name));
    const verify = (await runCommand(['help', 'verify', '--json'])).stdout;
    expect(JSON.parse(verify)).toMatchObject({ name: 'verify', options: { deep: { kind: 'flag' }, json: { kind: 'flag' } } });
    expect((await runCommand(['verify', '--help', '--json'])).stdout).toBe(verify);
  });

  it('suggests the nearest topic', async () => {
    const { code, stderr } = await runCommand(['help', 'exit-code']);
    expect(code).toBe(64);
    expect(stderr).toContain('Did you mean exit-codes?');
  });

  it.each(ALL.map(({ name }) => name))('of %s fits 100 columns and is what --help prints', async (name) => {
    const { stdout } = await runCommand(['help', ...name.split(' ')]);
    expect((await runCommand([...name.split(' '), '--help'])).stdout).toBe(stdout);
    for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100);
  });
});

describe('the table of commands', () => {
  it.each(ALL.map((entry) => [entry.name, entry] as const))(
    '%s has examples that the parsers accept, the first of its own',
    async (name, entry) => {
      const { examples } = await entry.load();
      expect(`${examples[0]?.line} `).toContain(`${name} `);
      for (const { line } of examples) {
        const words = line.split(/ [>|] /)[0]?.split(' ') ?? [];
        const named = commandOf(words);
        const { options } = await named.load();
        const args = words.slice(named.name.split(' ').length);
        expect(named.name.split(' ')[0]).toBe(name.split(' ')[0]);
        expect(() => parseCommandLine(args, { ...GLOBAL_OPTIONS, ...options })).not.toThrow();
      }
    },
  );

  it.each(ALL.map((entry) => [entry.name, entry] as const))('%s does not redefine a global option', async (_, entry) => {
    expect(Object.keys((await entry.load()).options).filter((name) => name in GLOBAL_OPTIONS)).toEqual([]);
  });
});
