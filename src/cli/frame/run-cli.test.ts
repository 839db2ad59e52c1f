import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { memoryStream } from '../../../test/support/memory-stream.ts';
import { VirtualClock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-codes.ts';
import { type CommandEntry, defineCommand } from './command.ts';
import { runCli } from './run-cli.ts';

class Signals extends EventEmitter {
  exit(): void {}
}

const greet = defineCommand({
  description: 'Greets.',
  operand: { name: 'NAME', description: 'whom to greet', count: 'many', complete: { words: [] } },
  options: { loud: { kind: 'flag', description: 'With an exclamation mark' } },
  examples: [{ line: 'greet Ada', description: 'greet one person' }],
  async run({ values, operands, output }) {
    if (operands[0] === 'nobody')
      throw new HoldfastError('PATH_NOT_FOUND', { message: 'there is no nobody\u001b[2J', hint: 'ask another' });
    if (operands[0] === 'bug') throw new TypeError('undefined is not a person\n    at secret.ts');
    if (operands[0] === 'moved') throw Object.assign(new Error('ENOTDIR: not a directory, open runs'), { code: 'ENOTDIR' });
    if (output.json) output.printJson({ hello: operands });
    else output.print(`hello ${operands.join(', ')}${values.loud ? '!' : ''}`);
    output.note('that went well');
    return EXIT.no;
  },
});

const wait = defineCommand({
  description: 'Waits until it is told to stop.',
  operand: null,
  options: {},
  examples: [],
  run: ({ signal }) =>
    new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason as Error);
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    }),
});

/** The errors that the command received: code and arguments. */
const told: (readonly [string, readonly string[]])[] = [];

const take = defineCommand({
  description: 'Answers signals itself.',
  operand: { name: 'WHEN', description: 'when it fails', count: 'many', complete: { words: [] } },
  options: {},
  examples: [],
  async onRefused(thrown, { args }) {
    told.push([thrown instanceof HoldfastError ? thrown.code : '', args]);
  },
  async run({ operands, takeSignals }) {
    if (operands[0] === 'all') return takeSignals() === 'SIGTERM' ? EXIT.fenced : EXIT.ok;
    if (operands[0] === 'late') takeSignals();
    throw new HoldfastError('PATH_NOT_FOUND', { message: 'it is not there' });
  },
});

const trainer = defineCommand({
  description: 'Runs another command line.',
  operand: { name: 'COMMAND', description: 'what to run', count: 'many', isAfterDashes: true, complete: 'paths' },
  options: {},
  examples: [],
  run: () => Promise.resolve(EXIT.ok),
});

const COMMANDS: readonly CommandEntry[] = [
  { name: 'greet', summary: 'Say hello', load: async () => greet },
  { name: 'wait', summary: 'Wait', load: async () => wait },
  { name: 'take', summary: 'Take over', load: async () => take },
  { name: 'trainer', summary: 'Run it', load: async () => trainer },
];

const start = (args: readonly string[], env: Record<string, string> = {}) => {
  const [stdout, stderr, signals] = [memoryStream(), memoryStream(), new Signals()];
  const exit = runCli(args, { stdout, stderr, env, signals, clock: new VirtualClock(), commands: COMMANDS, cannotEnd: () => {} });
  return { exit, stdout, stderr, signals };
};

const run = async (args: readonly string[], env: Record<string, string> = {}) => {
  const { exit, stdout, stderr } = start(args, env);
  return { code: await exit, stdout: stdout.text(), stderr: stderr.text() };
};

describe('a command line', () => {
  it('runs the command and ends with the code it gives', async () => {
    expect(await run(['greet', 'Ada', '--loud'])).toEqual({ code: 1, stdout: 'hello Ada!\n', stderr: 'that went well\n' });
  });

  it('takes the options of every command before and after its name', async () => {
    const result = { code: 1, stdout: 'hello Ada\n', stderr: '' };
    expect(await run(['--quiet', 'greet', 'Ada'])).toEqual(result);
    expect(await run(['greet', 'Ada', '-q'])).toEqual(result);
    expect(await run(['--progress', 'json', 'greet', '-q', 'Ada'])).toEqual(result);
  });

  it('prints nothing but one JSON document with --json', async () => {
    const { stdout, stderr } = await run(['greet', 'Ada', '--json']);
    expect(JSON.parse(stdout)).toEqual({ hello: ['Ada'] });
    expect(stderr).toBe('');
  });

  it('shows in the usage line that the trainer’s command stands after --', async () => {
    const { stdout } = await run(['trainer', '--help']);
    expect(stdout).toContain('  holdfast trainer [OPTION…] -- COMMAND…\n');
  });

  it('shows the help of a command without checking its arguments', async () => {
    const { code, stdout } = await run(['greet', '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain('holdfast greet [OPTION…] NAME…');
    expect(stdout).toContain('  holdfast greet Ada');
    expect(stdout).toContain('With an exclamation mark');
  });

  it('explains itself on standard error, as a usage error, when no command is given', async () => {
    const { code, stdout, stderr } = await run([]);
    expect([code, stdout]).toEqual([64, '']);
    expect(stderr).toContain('Say hello');
  });

  it('explains itself on standard output when asked', async () => {
    const { code, stdout, stderr } = await run(['--help']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('Say hello');
  });

  it('prints its version, also as JSON', async () => {
    expect((await run(['--version', '-q'])).stdout).toMatch(/^holdfast \d+\.\d+\.\d+\n$/);
    expect(JSON.parse((await run(['greet', '--version', '--json'])).stdout)).toHaveProperty('version');
  });
});

describe('an error', () => {
  it.each([
    [['gret'], 'error USAGE: unknown command "gret". Did you mean greet?\n  `holdfast help` lists the commands.\n'],
    [
      ['greet', '--lod'],
      'error USAGE: unknown option --lod. Did you mean --loud?\n  `holdfast help greet` shows its options and examples.\n',
    ],
    [['greet'], 'error USAGE: NAME is missing: whom to greet\n  `holdfast help greet` shows its options and examples.\n'],
    [['wait', 'x'], 'error USAGE: "x" is one argument too many\n  `holdfast help wait` shows its options and examples.\n'],
    [['--qiet'], 'error USAGE: unknown option --qiet. Did you mean --quiet?\n'],
  ])('of usage %j names the nearest word and the way out, and ends with 64', async (args, stderr) => {
    expect(await run(args)).toEqual({ code: 64, stdout: '', stderr });
  });

  it('has a code, an escaped message, a hint and an exit code', async () => {
    expect(await run(['greet', 'nobody'])).toEqual({
      code: 66,
      stdout: '',
      stderr: 'error PATH_NOT_FOUND: there is no nobody\\x1b[2J\n  ask another\n',
    });
  });

  it('is one JSON line on standard error with --json', async () => {
    const { stdout, stderr } = await run(['greet', 'nobody', '--json']);
    expect(stdout).toBe('');
    expect(JSON.parse(stderr)).toEqual({ error: { code: 'PATH_NOT_FOUND', message: 'there is no nobody\u001b[2J', hint: 'ask another' } });
  });

  it('is printed in the format that the options before -- request, whatever follows --', async () => {
    const plain = 'error PATH_NOT_FOUND: there is no nobody\\x1b[2J\n  ask another\n';
    expect((await run(['greet', '--', 'nobody', '--json'])).stderr).toBe(plain);
    expect((await run(['greet', '--lod', '--', '--json'])).stderr).toMatch(/^error USAGE: /);
    expect((await run(['greet', '--lod', '--json', '--', 'Ada'])).stderr).toMatch(/^\{"error":/);
    const coloured = { FORCE_COLOR: '1' };
    expect((await run(['greet', '--', 'nobody', '--no-color'], coloured)).stderr).toContain('\u001b[');
    expect((await run(['greet', '--no-color', '--', 'nobody'], coloured)).stderr).toBe(plain);
  });

  it('reaches a command, with its own arguments, only before the command handles signals itself', async () => {
    told.length = 0;
    await run(['take', '--lod', '--', '--its-own']);
    await run(['take', 'early']);
    await run(['take', 'late']);
    expect(told).toEqual([
      ['USAGE', ['take', '--lod']],
      ['PATH_NOT_FOUND', ['take', 'early']],
    ]);
  });

  it('of an unexpected kind is called a defect, without a stack', async () => {
    const { code, stderr } = await run(['greet', 'bug']);
    expect(code).toBe(70);
    expect(stderr).toMatch(/^error INTERNAL: undefined is not a person\n {2}This is a defect in Holdfast\..*\n$/);
  });

  it('about a folder that was replaced meanwhile is not called a defect', async () => {
    const { code, stderr } = await run(['greet', 'moved']);
    expect(code).toBe(EXIT.noInput);
    expect(stderr).toMatch(/^error PATH_NOT_SUPPORTED: a link or a file replaced a folder .*open runs/);
  });

  it('shows its stack with HOLDFAST_DEBUG=1', async () => {
    expect((await run(['greet', 'bug'], { HOLDFAST_DEBUG: '1' })).stderr).toContain('run-cli.test.ts');
  });
});

describe('a signal', () => {
  it.each([
    ['SIGINT', 130, 'error INTERRUPTED: stopped by Ctrl-C\n'],
    ['SIGTERM', 143, 'error TERMINATED: stopped by SIGTERM\n'],
  ])('%s ends the command with %i', async (name, code, message) => {
    const { exit, stderr, signals } = start(['wait']);
    // The command is loaded in a later turn; the signal may come before it listens, and counts all
    // the same.
    signals.emit(name);
    expect(await exit).toBe(code);
    expect(stderr.text()).toBe(message);
    expect(signals.eventNames()).toEqual([]);
  });

  it('that comes before the command answers signals itself is the command’s to answer', async () => {
    const { exit, stderr, signals } = start(['take', 'all']);
    signals.emit('SIGTERM');
    expect([await exit, stderr.text()]).toEqual([EXIT.fenced, '']);
  });
});
