import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { LAUNCHER } from './support/run-process.ts';
import { tempFolder } from './support/temp-folder.ts';

const JOB = (index: number): string => `---
kind: Job
metadata: { name: job-${index} }
spec: { template: { spec: { restartPolicy: Never, containers: [{ name: t, command: [python, train.py] }] } } }
`;
const pod = (index: number): object => ({
  kind: 'Pod',
  metadata: { name: `pod-${index}`, namespace: 'ml' },
  status: { phase: 'Failed', conditions: [], containerStatuses: [{ name: 't', state: { terminated: { exitCode: 137 } } }] },
});
const many = <T>(count: number, make: (index: number) => T): readonly T[] => Array.from({ length: count }, (_, index) => make(index));

/** Each takes many seconds of one thread. */
const INPUTS = {
  lint: { name: 'jobs.yaml', text: () => many(60_000, JOB).join('') },
  why: { name: 'pods.json', text: () => JSON.stringify({ kind: 'List', items: many(60_000, pod) }) },
} as const;

const SIGTERM_BIT = 1n << 14n;

/** Whether the process listens to SIGTERM; null: it has ended. */
function listensToSigterm(pid: number): boolean | null {
  try {
    const [, caught] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return caught === undefined ? null : (BigInt(`0x${caught}`) & SIGTERM_BIT) !== 0n;
  } catch {
    return null;
  }
}

it.skipIf(process.platform !== 'linux').each([
  ['lint', 'SIGTERM', []],
  ['lint', 'SIGINT', ['--diff']],
  ['why', 'SIGTERM', []],
] as const)('holdfast %s ends at %s while it computes %j, and prints nothing', async (command, signal, more) => {
  using folder = tempFolder();
  const { name, text } = INPUTS[command];
  writeFileSync(join(folder.path, name), text());
  const child = spawn(LAUNCHER, [command, ...(command === 'why' ? ['-f'] : []), name, ...more], { cwd: folder.path });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => output.push(bytes));
  const ended = once(child, 'close');
  const { pid = 0 } = child;
  const until = async (wanted: boolean): Promise<void> => {
    for (let is = listensToSigterm(pid); is !== null && is !== wanted; is = listensToSigterm(pid)) await nextTurn();
  };
  // It listens, and gives the signals back when it begins to compute.
  await until(true);
  await until(false);
  child.kill(signal);
  expect(await ended).toEqual([null, signal]);
  expect(Buffer.concat(output).toString('utf8')).toBe('');
});
