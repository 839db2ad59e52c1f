import type { Word } from './word.ts';

/** What `sh -c` is given, as far as rules need it. */
export interface ShellScript {
  readonly word: Word;
  readonly script: string;
  /** The words of the command that trains. */
  readonly trainer: readonly Word[];
  /**
   * Why SIGTERM does not reach the trainer; null where it does, or where the script traps it
   * itself.
   */
  readonly hides: string | null;
  /** Why the exit code of the script is not that of the trainer; null where it is. */
  readonly losesExit: string | null;
}

/** Scripts in manifests are short; what stands behind this is not read. */
const MAX_SCRIPT = 65_536;
const SHELL = /^(?:.*\/)?(?:ba|da|a|z|k)?sh$/;
const RUNS = /^(?:(?:.*\/)?(?:python[\d.]*|torchrun|accelerate|deepspeed|horovodrun|mpirun|holdfast|tini|nohup)|.*\.py)$/;

interface Simple {
  readonly words: readonly string[];
  /** What stands behind it: `|`, `&&`, `||`, `;`, `&` or nothing. */
  readonly joint: string;
}

/** Reads `sh -c SCRIPT`; null when the command is none. */
export function readShell(all: readonly Word[]): ShellScript | null {
  const words = all.slice(
    Math.max(
      0,
      all.findIndex(({ text }) => !/^(?:(?:.*\/)?(?:env|tini|dumb-init)|--|-\w|[A-Za-z_]\w*=.*)$/.test(text)),
    ),
  );
  if (!SHELL.test(words[0]?.text ?? '')) return null;
  const at = words.findIndex(({ text }, index) => index > 0 && /^-[a-z]*c[a-z]*$/.test(text));
  const word = words[at + 1];
  if (at < 0 || word === undefined) return null;
  const script = word.text;
  const commands = simpleCommands(script);
  const index = commands.findLastIndex(({ words: [first = '', second] }) => RUNS.test(first === 'exec' ? (second ?? '') : first));
  const own = commands[index];
  const trainer = (own?.words ?? []).map((text) => ({ text, from: word.from, to: word.to }));
  if (own === undefined || TRAP.test(script)) return { word, script, trainer, hides: null, losesExit: trappedExit(script) };
  const isStrict = words.some(({ text }) => /^-[a-z]*e/.test(text)) || /(?:^|[;\n])\s*set\s+-\w*e/.test(script);
  return { word, script, trainer, hides: hiding(commands, index), losesExit: losing(commands, index, isStrict ? script : '') };
}

const TRAP = /(?:^|[\s;&|])trap\s/;
/** `trap '… exit 0' TERM`, also with the number of the signal or beside others. */
const ENDS_WITH_ZERO = /(?:^|[\s;&|])trap\s+(?:--\s+)?(?:"([^"]*)"|'([^']*)')\s+(?:\w+\s+)*(?:(?:SIG)?TERM|15)\b/g;

function trappedExit(script: string): string | null {
  for (const [, double, single] of script.slice(0, MAX_SCRIPT).matchAll(ENDS_WITH_ZERO)) {
    if (/(?:^|[\s;&|{])exit(?:\s+0)?\s*(?:[;}]|$)/.test(double ?? single ?? '')) return 'its trap for SIGTERM ends with `exit 0`';
  }
  return null;
}

function hiding(commands: readonly Simple[], index: number): string | null {
  const own = commands[index];
  if (own === undefined) return null;
  if (own.joint === '|') return 'the trainer runs in a pipe';
  if (own.joint === '&') return 'the trainer runs in the background';
  if (own.words[0] === 'exec') return null;
  const rest = commands.slice(index + 1);
  if (rest.length > 0) return `the shell waits to run \`${(rest[0]?.words ?? []).slice(0, 3).join(' ')}\` after it`;
  return index > 0 ? 'the shell stays before it, since there is no `exec`' : null;
}

function losing(commands: readonly Simple[], index: number, strictScript: string): string | null {
  const own = commands[index];
  const next = commands[index + 1];
  if (own === undefined || next === undefined || own.joint === '&&') return null;
  if (own.joint === '|') {
    const isPipefail = strictScript.includes('pipefail') || commands.some(({ words }) => words.includes('pipefail'));
    return isPipefail ? null : 'the exit code of a pipe is that of its last program';
  }
  if (own.joint === '||') return swallows(next) ? `\`|| ${next.words.join(' ')}\` turns every failure into 0` : null;
  return strictScript === '' ? endingWith(commands.at(-1)?.words ?? [], own.joint) : null;
}

function swallows({ words: [first = '', second] }: Simple): boolean {
  return /^(?:true|:|echo|exit)$/.test(first) && second !== '1';
}

function endingWith(last: readonly string[], joint: string): string | null {
  if (last[0] === 'exit') return last[1] === '0' ? '`exit 0` is at the end' : null;
  if (joint === '&') return last[0] === 'wait' && last.length > 1 ? null : 'the trainer runs in the background';
  return `the exit code is that of \`${last.slice(0, 3).join(' ')}\``;
}

/**
 * The commands of a script with what joins them; quotes are respected, what is inside of them is
 * not read.
 */
function simpleCommands(script: string): readonly Simple[] {
  const commands: Simple[] = [];
  let words: string[] = [];
  const end = (joint: string): void => {
    const start = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
    const own = start < 0 ? [] : words.slice(start);
    if (own.length > 0) commands.push({ words: own, joint });
    words = [];
  };
  // A word; or what joins; or a redirection, which is left out; or a comment.
  const token =
    /\\\r?\n|#[^\n]*|\d*>&\d|&>>?\s*\S+|\d*[<>]{1,2}\s*[^\s;|&]+|(\|\||&&|\|&?|;|&|\n)|((?:\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`|"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s|&;<>"'#`\\]|(?<=\S)#)+)/gs;
  for (const [, joint, word] of script.slice(0, MAX_SCRIPT).matchAll(token)) {
    if (joint !== undefined) end(joint === '\n' ? ';' : joint === '|&' ? '|' : joint);
    else if (word !== undefined) words.push(word.replace(/^(["'])(.*)\1$/s, '$2'));
  }
  end('');
  return commands;
}
