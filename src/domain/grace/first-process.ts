import type { Hearing, PodGrace } from './pod-grace.ts';

/**
 * How a container’s command handles SIGTERM: whether the program receives it, and how long its
 * launcher waits.
 */
export type FirstProcess = Pick<PodGrace, 'hearing' | 'launcher' | 'isSupervised'>;

/** torchrun kills its workers this long after SIGTERM, whatever the pod’s grace is. */
const TORCHRUN_SECONDS = 30;
const TORCHRUN_VARIABLE = 'TORCH_ELASTIC_SHUTDOWN_TIMEOUT';
const SHELL = /^(?:\S*\/)?(?:ba|da|z|k|a)?sh$/;
const INIT = /^(?:\S*\/)?(?:tini|dumb-init|catatonit)$/;
const TORCHRUN = /(?:^|[\s/])(?:torchrun|torch\.distributed\.(?:run|launch)|accelerate(?: |$))/;
/** The operator starts trainers with a program that holds only `run`. */
const SUPERVISED = /(?:^|[\s/])holdfast[ -]run(?:\s|$)/;

/**
 * Reads the command of a container. If it is empty, the image decides. Under the supervisor,
 * torchrun’s timeout is the whole grace.
 */
export function firstProcessOf(command: readonly string[], env: ReadonlyMap<string, string>): FirstProcess {
  const words = withoutInit(command);
  const script = scriptOf(words);
  const text = script ?? words.join(' ');
  const isSupervised = SUPERVISED.test(text);
  return { hearing: hearingOf(words, script, isSupervised), launcher: isSupervised ? null : launcherOf(text, env), isSupervised };
}

/** The script of a shell, or null if the command is not a shell. */
function scriptOf(words: readonly string[]): string | null {
  if (!SHELL.test(words[0] ?? '')) return null;
  const at = words.findIndex((word) => /^-[a-z]*c$/.test(word));
  return at < 0 ? null : (words[at + 1] ?? '');
}

function withoutInit(command: readonly string[]): readonly string[] {
  if (!INIT.test(command[0] ?? '')) return command;
  const at = command.findIndex((word, index) => index > 0 && word !== '--' && !word.startsWith('-'));
  return at < 0 ? command : command.slice(at);
}

function hearingOf(words: readonly string[], script: string | null, isSupervised: boolean): Hearing {
  if (words.length === 0) return { hears: 'maybe', reason: 'the image decides what runs' };
  const hidden = script === null ? null : hiddenBy(script);
  if (hidden !== null)
    return { hears: 'no', reason: `SIGTERM goes to a shell, which does not forward it: ${hidden.because}`, remedy: hidden.remedy };
  if (isSupervised) return { hears: 'yes', reason: 'holdfast run gets SIGTERM and asks the trainer for a save' };
  return { hears: 'maybe', reason: 'SIGTERM reaches the program; the first process of a container ignores it unless it handles it' };
}

/**
 * Why a shell stays before the program and waits, and the remedy; null if it has one command,
 * replaces itself by the last one, or traps signals itself.
 */
function hiddenBy(script: string): { readonly because: string; readonly remedy: string } | null {
  const plain = script
    .replace(/'[^']*'|"[^"]*"/g, 'x')
    .replace(/\d*>&\d|&>>?|>\([^)]*\)/g, '> ')
    .trim()
    .replace(/;$/, '');
  if (/(?:^|[\s;&|])trap\s/.test(plain) || !/[;|&\n]/.test(plain)) return null;
  const last =
    plain
      .split(/;|&&|\|\||\n/)
      .at(-1)
      ?.trim() ?? '';
  if (last.includes('|')) return { because: 'it waits for a pipe', remedy: 'exec before the trainer, and no pipe behind it' };
  if (plain.replaceAll('&&', '').includes('&')) {
    return { because: 'the trainer runs in the background', remedy: 'exec before the trainer, and no & behind it' };
  }
  return /^exec\s/.test(last) ? null : { because: 'it waits for its last command', remedy: 'exec before the last command of the shell' };
}

function launcherOf(text: string, env: ReadonlyMap<string, string>): PodGrace['launcher'] {
  if (!TORCHRUN.test(text)) return null;
  const told = Number(env.get(TORCHRUN_VARIABLE) ?? '');
  const seconds = Number.isFinite(told) && told > 0 ? told : TORCHRUN_SECONDS;
  return { seconds, reason: `torchrun kills its workers ${seconds}s after SIGTERM (${TORCHRUN_VARIABLE})` };
}
