import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { toError } from '../../../src/core/errors.ts';
import { unlessGone } from './gone.ts';

/**
 * Runs a set-up script and passes its messages to standard error. If the script fails, returns its
 * last line, else null. When the signal aborts, ends the script with all processes that it started,
 * then throws.
 */
export async function prepare([program, ...args]: readonly [string, ...string[]], signal?: AbortSignal): Promise<string | null> {
  signal?.throwIfAborted();
  // A terminal sends Ctrl-C to the whole process group. For any other abort, we end the group
  // ourselves.
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

/** The last line that is not empty, plus an unfinished one. */
function lastLine(text: string): string {
  return text.slice(text.trimEnd().lastIndexOf('\n') + 1);
}
