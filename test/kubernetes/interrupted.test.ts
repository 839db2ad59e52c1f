import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROOT } from '../support/run-process.ts';
import { whyNoNamespaces } from './cluster/facility.ts';
import { cgroupOf } from './cluster/leftovers.ts';
import { type OwnCache, ownCache } from './cluster/own-cache.ts';
import { identify, isThere } from './cluster/process-start.ts';
import { type Traces, NO_TRACES, tracesOf } from './cluster/traces.ts';
import { eventually } from './cluster/wait.ts';

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const CONFIG = join(ROOT, 'test/kubernetes/interrupted/vitest.config.ts');
const reason = whyNoNamespaces();

interface Waiting {
  readonly id: string;
  readonly folder: string;
  readonly network: string;
  /** The process that runs the test. */
  readonly pid: number;
}

describe.skipIf(reason !== null)(`tests that are interrupted${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cache: OwnCache;
  let runner: ChildProcess;
  beforeEach(() => {
    cache = ownCache();
  });
  afterEach(() => cache[Symbol.asyncDispose]());

  /** A test runner whose test has made a box, and waits. */
  async function waitingRun(): Promise<Waiting> {
    const child = spawn(process.execPath, [VITEST, 'run', '--config', CONFIG, '--root', ROOT], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], HOLDFAST_CACHE: cache.path },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    runner = child;
    let said = '';
    for (const output of [child.stdout, child.stderr]) output.setEncoding('utf8').on('data', (text: string) => (said += text));
    const lines = createInterface({ input: child.stdout });
    const told = new Promise<Waiting>((resolve) => {
      lines.on('line', (line) => (line.startsWith('{') ? resolve(JSON.parse(line) as Waiting) : undefined));
    });
    const ended = once(child, 'exit').then(() => Promise.reject(new Error(`it ended before it waited:\n${said}`)));
    return Promise.race([told, ended]);
  }

  it.each([
    ['whoever runs them gets SIGINT', 'runner', 'SIGINT'],
    ['whoever runs them gets SIGTERM', 'runner', 'SIGTERM'],
    ['whoever runs them is killed', 'runner', 'SIGKILL'],
    ['the process that does gets SIGINT', 'worker', 'SIGINT'],
  ] as const)('leave nothing, without a next start: %s', async (_, who, signal) => {
    const { id, folder, network, pid } = await waitingRun();
    const worker = identify(pid);
    const seen = (): Traces => tracesOf({ folder, cgroup: cgroupOf(id), network });
    expect(seen().processes.length).toBeGreaterThan(1);
    process.kill(who === 'runner' ? (runner.pid ?? 0) : pid, signal);
    await once(runner, 'exit');
    await eventually('nothing to be left', () => (JSON.stringify(seen()) === JSON.stringify(NO_TRACES) ? true : null));
    await eventually('its folder to be gone', () => (existsSync(folder) ? null : true));
    await eventually('the end of the process that ran the tests', () => (isThere(worker) ? null : true));
  });
});
