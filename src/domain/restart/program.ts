import { excerpt } from '../../core/printable.ts';

const SCRIPT = /\.(py|pyc|sh|bash|zsh|pl|rb|r|jl|lua|js|mjs|cjs|ts|mts)$/i;
/** Modules that only start another program. */
const LAUNCHERS: ReadonlySet<string> = new Set([
  'torch.distributed.run',
  'torch.distributed.launch',
  'accelerate.commands.launch',
  'deepspeed.launcher.launch',
]);

/**
 * The program that a command line runs: its script, or its module (`-m`), behind any interpreter,
 * launcher or shell; else its first word. Arguments are left out, because they change from one
 * attempt to the next.
 */
export function programOf(command: readonly string[]): string {
  const words = command.flatMap((word) => word.split(/[\s"'`;&|()<>]+/)).filter((word) => word !== '');
  const found = words.find((word, index) => (words[index - 1] === '-m' ? !LAUNCHERS.has(word) : isScript(word)));
  return found ?? command[0] ?? '';
}

/** Neither an option nor a variable. */
function isScript(word: string): boolean {
  return SCRIPT.test(word) && !/^(-|\w+=)/.test(word);
}

/**
 * Compares by path, and one path may be longer: the folder of a relative path is no longer known.
 */
function isSamePath(one: string, other: string): boolean {
  const [a, b] = [partsOf(one), partsOf(other)];
  const length = Math.min(a.length, b.length);
  return length > 0 && a.slice(-length).join('/') === b.slice(-length).join('/');
}

function partsOf(path: string): readonly string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

/**
 * Warns a user who forgot to name another folder; null when an earlier attempt ran the same
 * program.
 */
export function otherProgramSentence(
  now: readonly string[],
  before: { readonly attempt: number; readonly command: readonly string[] },
  resumeStep: number,
): string | null {
  const [program, last] = [programOf(now), programOf(before.command)];
  if (isSamePath(program, last)) return null;
  return `attempt ${before.attempt} in this folder ran ${shown(last)}, but this one runs ${shown(program)} and resumes from step ${resumeStep} of that run; give a different run its own folder: --dir=FOLDER`;
}

function shown(program: string): string {
  return excerpt(program, 100);
}
