import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { whyNotBuilt } from '../cluster/facility.ts';

const SETUP = fileURLToPath(new URL('../setup.sh', import.meta.url));

/** Why Kubernetes' own code cannot be asked here, or null. It needs no root, only what is built. */
export function whyNoOracle(): string | null {
  return whyNotBuilt();
}

/** Asks Kubernetes' own code, in a process of its own, and gives its verdicts in the order of the questions. */
export async function askOracle(questions: readonly object[]): Promise<readonly unknown[]> {
  const answers = await answersTo(questions.map((question, id) => JSON.stringify({ id, ...question })));
  return answers.map((answer, index) => {
    const { id, ...verdict } = answer as { readonly id?: number };
    if (id !== index) throw new Error(`the oracle has answered question ${index} with the answer to ${id}`);
    return verdict;
  });
}

/** What it says to lines, whatever stands in them: to each one answer. */
export async function answersTo(lines: readonly (string | Buffer)[]): Promise<readonly unknown[]> {
  const program = execFileSync(SETUP, ['--find', 'oracle'], { encoding: 'utf8' }).trim();
  const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const answers: unknown[] = [];
  const reading = (async () => {
    for await (const line of createInterface({ input: child.stdout })) answers.push(JSON.parse(line));
  })();
  // Whoever dies before it has read everything is told by its exit code.
  child.stdin.on('error', () => {});
  for (const line of lines) {
    child.stdin.write(line);
    if (!child.stdin.write('\n')) await Promise.race([once(child.stdin, 'drain'), ended]);
  }
  child.stdin.end();
  await reading;
  const [code] = (await ended) as [number | null];
  if (code !== 0 || answers.length !== lines.length)
    throw new Error(`the oracle ended with ${code} after ${answers.length} of ${lines.length} answers`);
  return answers;
}
