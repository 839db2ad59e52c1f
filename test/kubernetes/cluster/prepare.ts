import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Runs a script that makes something ready, and passes on to standard error what it says there. Gives its last line when it fails, else null. */
export async function prepare([program, ...args]: readonly [string, ...string[]]): Promise<string | null> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let last = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    process.stderr.write(text);
    last = lastLine(last + text);
  });
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return code === 0 ? null : last.trim() || `${program} ended with ${code ?? signal}`;
  } catch (thrown) {
    return `${program} cannot be run: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  }
}

/** The last that is not empty, with what may still follow it. */
function lastLine(text: string): string {
  return text.slice(text.trimEnd().lastIndexOf('\n') + 1);
}
