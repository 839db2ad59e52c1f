import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { toError } from '../../../src/core/errors.ts';
import { unlessGone } from './gone.ts';

/**
 * Runs a script that makes something ready, and passes on to standard error what it says there. Gives its last line when it fails, else null. Throws when it is
 * called off, after the end of the script and of all that it has started.
 */
export async function prepare([program, ...args]: readonly [string, ...string[]], signal?: AbortSignal): Promise<string | null> {
  signal?.throwIfAborted();
  // A terminal's Ctrl-C goes to a group of processes, and whoever is called off otherwise ends the group itself.
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], detached: signal !== undefined });
  const endGroup = (): void => {
    if (child.pid !== undefined) unlessGone(() => process.kill(-Number(child.pid), 'SIGTERM'));
  };
  signal?.addEventListener('abort', endGroup);
  let last = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    process.stderr.write(text);
    last = lastLine(last + text);
  });
  try {
    const [code, killer] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    signal?.throwIfAborted();
    return code === 0 ? null : last.trim() || `${program} ended with ${code ?? killer}`;
  } catch (thrown) {
    signal?.throwIfAborted();
    return `${program} cannot be run: ${toError(thrown).message}`;
  } finally {
    signal?.removeEventListener('abort', endGroup);
  }
}

/** The last that is not empty, with what may still follow it. */
function lastLine(text: string): string {
  return text.slice(text.trimEnd().lastIndexOf('\n') + 1);
}
