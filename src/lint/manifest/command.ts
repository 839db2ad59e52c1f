import { get, items, text, type YamlNode } from './yaml-node.ts';
import type { Word } from './word.ts';
import { readShell, type ShellScript } from './shell.ts';

/** An option as a launcher reads it: `--nnodes=2`, or `--nnodes 2`; the name with dashes. */
export interface Flag {
  readonly name: string;
  readonly written: string;
  readonly value: string | null;
  readonly words: readonly Word[];
}

/** What a container runs, from the outside in: shell, supervisor, launcher, script. */
export interface CommandLine {
  /** `command` and `args` as they are written. */
  readonly words: readonly Word[];
  readonly shell: ShellScript | null;
  readonly supervisor: {
    readonly word: Word;
    readonly options: ReadonlyMap<string, { readonly value: string; readonly word: Word }>;
  } | null;
  readonly launcher: string | null;
  readonly torchrun: { readonly word: Word; readonly flags: readonly Flag[] } | null;
  /** The path of the Python script, or the module behind `-m`. */
  readonly script: string | null;
  readonly trainerArgs: readonly Word[];
  /** The words of the program that trains, without shell and supervisor. */
  readonly inner: readonly Word[];
}

/**
 * Reads `command` and `args` of a container. What a shell runs is read as far as it is one simple
 * command.
 */
export function readCommand(container: YamlNode): CommandLine {
  const words = [...items(get(container, 'command')), ...items(get(container, 'args'))].flatMap((node): Word[] => {
    const word = text(node);
    return word === null ? [] : [{ text: word, from: node.from, to: node.to }];
  });
  const shell = readShell(words);
  return { words, shell, ...readArgv(shell === null ? words : shell.trainer) };
}

/** Reads an argument vector that no shell stands before. */
function readArgv(argv: readonly Word[]): Omit<CommandLine, 'words' | 'shell'> {
  const start = Math.max(
    0,
    argv.findIndex((word) => !PREFIXES.has(base(word.text)) && !/^(?:[A-Za-z_]\w*=|-\w$)/.test(word.text)),
  );
  const own = argv.slice(start);
  const supervised = readSupervisor(own);
  const inner = supervised === null ? own : supervised.inner;
  const launched = readLauncher(inner);
  return { supervisor: supervised?.supervisor ?? null, inner, ...launched };
}

const PREFIXES = new Set(['exec', 'env', 'tini', 'dumb-init', 'nohup', 'nice', '--']);

function base(word: string): string {
  return word.slice(word.lastIndexOf('/') + 1);
}

function readSupervisor(argv: readonly Word[]): { supervisor: CommandLine['supervisor']; inner: readonly Word[] } | null {
  const [first, second] = argv;
  if (first === undefined || base(first.text) !== 'holdfast' || second?.text !== 'run') return null;
  const end = argv.findIndex(({ text: word }) => word === '--');
  const options = new Map<string, { value: string; word: Word }>();
  const own = argv.slice(2, end < 0 ? argv.length : end);
  for (const [index, word] of own.entries()) {
    const [, name, value] = /^--([a-z-]+)(?:=(.*))?$/s.exec(word.text) ?? [];
    if (name !== undefined) options.set(name, { value: value ?? own[index + 1]?.text ?? '', word });
  }
  return { supervisor: { word: first, options }, inner: end < 0 ? [] : argv.slice(end + 1) };
}

type Launched = Pick<CommandLine, 'launcher' | 'torchrun' | 'script' | 'trainerArgs'>;

function readLauncher(argv: readonly Word[]): Launched {
  const [first = '', second = ''] = argv.map(({ text: word }) => base(word));
  const module = /^python[\d.]*$/.test(first) ? argv.findIndex(({ text: word }) => word === '-m') : -1;
  if (first === 'torchrun') return torchrunOf(argv, 0);
  if (module > 0) return moduleOf(argv, module + 1);
  if (first === 'accelerate' && second === 'launch') return { launcher: 'accelerate launch', torchrun: null, ...scriptOf(argv, 2) };
  if (LAUNCHERS.has(first)) return { launcher: first, torchrun: null, ...scriptOf(argv, 1) };
  return { launcher: null, torchrun: null, ...scriptOf(argv, 0) };
}

const LAUNCHERS: ReadonlySet<string> = new Set(['deepspeed', 'horovodrun', 'mpirun']);

function moduleOf(argv: readonly Word[], at: number): Launched {
  const name = argv[at]?.text ?? '';
  if (/^torch\.distributed\.(?:run|launch)$/.test(name)) return torchrunOf(argv, at);
  return { launcher: null, torchrun: null, script: name, trainerArgs: argv.slice(at + 1) };
}

function scriptOf(argv: readonly Word[], start: number): Pick<CommandLine, 'script' | 'trainerArgs'> {
  const at = argv.findIndex(({ text: word }, index) => index >= start && word.endsWith('.py') && !word.startsWith('-'));
  return at < 0 ? { script: null, trainerArgs: argv.slice(start) } : { script: argv[at]?.text ?? null, trainerArgs: argv.slice(at + 1) };
}

function torchrunOf(argv: readonly Word[], at: number): Launched {
  const [flags, args]: [Flag[], Word[]] = [[], argv.slice(at + 1)];
  const script = takeFlags(flags, args);
  return { launcher: 'torchrun', torchrun: { word: argv[at] ?? { text: 'torchrun', from: 0, to: 0 }, flags }, script, trainerArgs: args };
}

/**
 * Moves the options of torchrun from the arguments to the flags, and gives the script behind them.
 */
function takeFlags(flags: Flag[], args: Word[]): string | null {
  for (let word = args.shift(); word !== undefined; word = args.shift()) {
    const { written, name, value } = readFlag(word);
    if (written === '') return word.text;
    if (name === 'm' || name === 'module') return args.shift()?.text ?? null;
    const taken = value === null && !BARE_FLAGS.has(name) && isValue(args[0]) ? args.splice(0, 1) : [];
    flags.push({ name, written, value: value ?? taken[0]?.text ?? null, words: [word, ...taken] });
  }
  return null;
}

function readFlag({ text: word }: Word): { readonly written: string; readonly name: string; readonly value: string | null } {
  const { written = '', value = null } = /^(?<written>-{1,2}[A-Za-z][\w-]*)(?:=(?<value>.*))?$/s.exec(word)?.groups ?? {};
  return { written, name: written.replace(/^-+/, '').replaceAll('_', '-'), value };
}

function isValue(word: Word | undefined): boolean {
  return word !== undefined && !word.text.startsWith('-') && !word.text.endsWith('.py');
}

/** Options of torchrun without a value. */
const BARE_FLAGS: ReadonlySet<string> = new Set(['standalone', 'no-python', 'run-path', 'h', 'help', 'signals-to-handle-none']);
