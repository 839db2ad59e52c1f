import { excerpt } from '../core/printable.ts';

const SCRIPT = /\.(py|pyc|sh|bash|zsh|pl|rb|r|jl|lua|js|mjs|cjs|ts|mts)$/i;
/** Modules that only start another program. */
const LAUNCHERS: ReadonlySet<string> = new Set([
  'torch.distributed.run',
  'torch.distributed.launch',
  'accelerate.commands.launch',
  'deepspeed.launcher.launch',
]);

/**
 * What a command line runs, apart from how: its script, or its module (`-m`), whatever interpreter, launcher or shell stands in front; else its program. Arguments
 * are none of it: they change from one attempt to the next.
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

/** By their paths, of which one may be longer: the folder that a relative one starts from is not known any more. */
function isSamePath(one: string, other: string): boolean {
  const [a, b] = [partsOf(one), partsOf(other)];
  const length = Math.min(a.length, b.length);
  return length > 0 && a.slice(-length).join('/') === b.slice(-length).join('/');
}

function partsOf(path: string): readonly string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

/** Somebody who forgot to name another folder should know; null where an earlier attempt ran the same program. */
export function otherProgramSentence(
  now: readonly string[],
  before: { readonly attempt: number; readonly command: readonly string[] },
  resumeStep: number,
): string | null {
  const [program, last] = [programOf(now), programOf(before.command)];
  if (isSamePath(program, last)) return null;
  return `attempt ${before.attempt} in this folder ran ${shown(last)}, and this one runs ${shown(program)}, from step ${resumeStep} of that; what is another run needs a folder of its own: --dir=FOLDER`;
}

function shown(program: string): string {
  return excerpt(program, 100);
}
