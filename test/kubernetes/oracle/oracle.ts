import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { findFacility, whyNotBuilt } from '../cluster/facility.ts';

/** Why Kubernetes' own code cannot be asked here, or null. It needs no root, only what is built. */
export function whyNoOracle(): string | null {
  return whyNotBuilt();
}

/** Asks Kubernetes' own code, in a process of its own, and gives its verdicts in the order of the questions. */
export async function askOracle(questions: readonly unknown[]): Promise<readonly unknown[]> {
  const child = spawn(findFacility().program('oracle'), { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const answers: unknown[] = [];
  const reading = (async () => {
    for await (const line of createInterface({ input: child.stdout })) answers.push(JSON.parse(line));
  })();
  // Whoever dies before it has read everything is told by its exit code.
  child.stdin.on('error', () => {});
  for (const question of questions) {
    if (!child.stdin.write(`${JSON.stringify(question)}\n`)) await Promise.race([once(child.stdin, 'drain'), ended]);
  }
  child.stdin.end();
  await reading;
  const [code] = (await ended) as [number | null];
  if (code !== 0 || answers.length !== questions.length)
    throw new Error(`the oracle ended with ${code} after ${answers.length} of ${questions.length} answers`);
  return answers;
}
