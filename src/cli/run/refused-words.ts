import { statSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Clock } from '../../core/clock.ts';
import { Book, KUBERNETES_LOG } from '../../supervisor/book.ts';
import { WordsBetween } from '../../supervisor/words-between.ts';

interface Refusal {
  /** The arguments of Holdfast, those of the trainer left out. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly say: (text: string) => void;
}

const OPTION = '--termination-log';

/**
 * The termination message of a run that was refused before anything of it was begun: whoever looks at a pod sees why. The file is looked up by eye, since
 * the options may be the very thing that was wrong. Without one it is that of Kubernetes, but only for the program that the container is there for, and
 * only while nobody has left anything: whoever tries a command in a container that trains takes nobody's words away.
 */
export function leaveRefusedWords(thrown: unknown, { args, env, clock, say }: Refusal): void {
  const terminationLog = namedLog(args) ?? (isFirst() && isEmpty(KUBERNETES_LOG) ? KUBERNETES_LOG : null);
  if (terminationLog === null) return;
  const node = env['HOLDFAST_NODE'] || hostname();
  const book = new Book({ dir: '', node, clock, terminationLog, say, shout: say });
  new WordsBetween({ book, notices: { first: null, deadline: null }, clock }).leaveRefused(thrown);
}

/** The last one counts, as everywhere. */
function namedLog(args: readonly string[]): string | null {
  const at = args.findLastIndex((arg) => arg === OPTION || arg.startsWith(`${OPTION}=`));
  const given = args[at]?.startsWith(`${OPTION}=`) === true ? args[at].slice(OPTION.length + 1) : args[at + 1];
  return at < 0 || given === undefined || given === '' || given.startsWith('-') ? null : given;
}

/** The first process of the container, or the one that its launcher or its init has started. */
function isFirst(): boolean {
  return process.pid === 1 || process.ppid === 1;
}

function isEmpty(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.size === 0;
}
