import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/run-process.ts';
import { whyNoNamespaces, whyNotBuilt } from './cluster/facility.ts';
import { cgroupOf } from './cluster/leftovers.ts';
import { whenNothingIsLeft } from './cluster/nothing-left.ts';
import { type OwnCache, ownCache, ownCacheWithFacility } from './cluster/own-cache.ts';
import { type ProcessIdentity, identify, isThere } from './cluster/process-start.ts';
import { NO_TRACES, type Traces, tracesOf } from './cluster/traces.ts';
import { eventually } from './cluster/wait.ts';

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const CONFIG = join(ROOT, 'test/kubernetes/interrupted/vitest.config.ts');
const reason = whyNoNamespaces();
const notBuilt = reason ?? whyNotBuilt();

interface Made {
  readonly id: string;
  readonly folder: string;
  readonly network: string;
  /** The process that runs the test. */
  readonly pid: number;
}

/** A run of a test that has made a box or a cluster. */
interface Run {
  readonly runner: ChildProcess;
  readonly worker: ProcessIdentity;
  readonly folder: string;
  readonly seen: () => Traces;
  /** How it ended, and all that it has said. */
  readonly ended: Promise<{ readonly code: number | null; readonly said: string }>;
}

describe.skipIf(reason !== null)(`a run of tests that make a box${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  /** With a group of its own, as a shell at a terminal would give it; it ends with whoever tries it here. */
  async function runOf(test: string, cache: OwnCache): Promise<Run> {
    const line = ['--pdeathsig', 'TERM', process.execPath, VITEST, 'run', '--config', CONFIG, '--root', ROOT, test];
    const runner = spawn('setpriv', line, {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], HOLDFAST_CACHE: cache.path },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let said = '';
    for (const output of [runner.stdout, runner.stderr]) output.setEncoding('utf8').on('data', (text: string) => (said += text));
    const ended = once(runner, 'close').then(([code]) => ({ code: code as number | null, said }));
    const told = new Promise<Made>((resolve) => {
      createInterface({ input: runner.stdout }).on('line', (text) =>
        text.startsWith('{') ? resolve(JSON.parse(text) as Made) : undefined,
      );
    });
    const tooEarly = ended.then(() => Promise.reject(new Error(`it ended before it had made anything:\n${said}`)));
    const { id, folder, network, pid } = await Promise.race([told, tooEarly]);
    return { runner, worker: identify(pid), folder, seen: () => tracesOf({ folder, cgroup: cgroupOf(id), network }), ended };
  }

  /** Without a next start. */
  async function expectNothingLeft({ worker, folder, seen, ended }: Run): Promise<void> {
    await ended;
    await whenNothingIsLeft(seen);
    await eventually('its folder to be gone', () => (existsSync(folder) ? null : true));
    await eventually('the end of the process that ran the tests', () => (isThere(worker) ? null : true));
  }

  it.each([
    ['Ctrl-C is pressed', 'both', 'SIGINT'],
    ['whoever runs them gets SIGINT', 'runner', 'SIGINT'],
    ['whoever runs them gets SIGTERM', 'runner', 'SIGTERM'],
    ['whoever runs them is killed', 'runner', 'SIGKILL'],
    ['the process that does gets SIGINT', 'worker', 'SIGINT'],
  ] as const)('leaves nothing when %s', async (_, who, signal) => {
    await using cache = ownCache();
    const run = await runOf('waiting-box', cache);
    expect(run.seen().processes.length).toBeGreaterThan(1);
    const pid = run.runner.pid ?? 0;
    process.kill({ both: -pid, runner: pid, worker: run.worker.pid }[who], signal);
    await expectNothingLeft(run);
  });

  it('leaves nothing when a test fails before it has taken down what it made', async () => {
    await using cache = ownCache();
    const run = await runOf('failing-box', cache);
    const { code, said } = await run.ended;
    expect(said).toContain(': meant to fail');
    expect(code, said).toBe(1);
    expect([run.seen(), existsSync(run.folder)]).toEqual([NO_TRACES, false]);
  });

  it.skipIf(notBuilt !== null)(
    `leaves nothing of a cluster with a running pod when whoever runs them is killed${notBuilt === null ? '' : ` (skipped: ${notBuilt})`}`,
    async () => {
      await using cache = ownCacheWithFacility();
      const run = await runOf('waiting-cluster', cache);
      const { processes, namespaces, loopDevices, cgroups } = run.seen();
      expect(processes.length).toBeGreaterThan(10);
      // The box's, and the pod's.
      expect(namespaces.filter((namespace) => namespace.startsWith('net:'))).toHaveLength(2);
      expect([loopDevices.length, cgroups.length]).toEqual([1, 1]);
      run.runner.kill('SIGKILL');
      await expectNothingLeft(run);
    },
  );
});
