import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** How long one command may take on a very busy machine; a command that hangs never ends. */
const DEADLINE_MS = 120_000;

/**
 * Runs a script beside this file and returns the lines of JSON that it prints. If no line comes in
 * time, the script is killed, and the last line names the command that did not end.
 */
export async function playLines(
  script: string,
  args: readonly string[],
): Promise<{ readonly lines: readonly object[]; readonly isWhole: boolean }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, script), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const lines: object[] = [];
  let deadline = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
  for await (const text of createInterface({ input: child.stdout })) {
    clearTimeout(deadline);
    deadline = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
    lines.push(JSON.parse(text) as object);
  }
  clearTimeout(deadline);
  await closed;
  return { lines, isWhole: child.exitCode === 0 };
}
