import { statSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Clock } from '../../../core/clock.ts';
import { RunLog, KUBERNETES_LOG } from '../../../supervisor/base/run-log.ts';
import { MessageWithoutTrainer } from '../../../supervisor/run/message-without-trainer.ts';

interface Refusal {
  /** The arguments of Holdfast, without the trainer’s own. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly say: (text: string) => void;
}

/** How long to wait for the file. */
const WRITTEN_MS = 2000;
const OPTION = '--termination-log';

/**
 * Writes the termination message of a run that was refused before it started, so that the pod's
 * status shows the reason. It looks for the file's option directly, since parsing the options may
 * be what failed. Without the option it uses the file of Kubernetes, but only for the container's
 * main program, and only while the file is empty. So a command that you try in a training container
 * overwrites nothing.
 */
export async function leaveRefusedWords(thrown: unknown, { args, env, clock, say }: Refusal): Promise<void> {
  const terminationLog = namedLog(args) ?? (isFirst() && isEmpty(KUBERNETES_LOG) ? KUBERNETES_LOG : null);
  if (terminationLog === null) return;
  const node = env['HOLDFAST_NODE'] || hostname();
  const log = new RunLog({ dir: '', node, clock, terminationLog, say, shout: say });
  new MessageWithoutTrainer({ log, notices: { first: null, deadline: null }, clock }).leaveRefused(thrown);
  await log.end(WRITTEN_MS);
}

/** The last one counts, as for every option. */
function namedLog(args: readonly string[]): string | null {
  const at = args.findLastIndex((arg) => arg === OPTION || arg.startsWith(`${OPTION}=`));
  const given = args[at]?.startsWith(`${OPTION}=`) === true ? args[at].slice(OPTION.length + 1) : args[at + 1];
  return at < 0 || given === undefined || given === '' || given.startsWith('-') ? null : given;
}

/** Whether this is the first process of the container, or a child of its launcher or init. */
function isFirst(): boolean {
  return process.pid === 1 || process.ppid === 1;
}

function isEmpty(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.size === 0;
}
