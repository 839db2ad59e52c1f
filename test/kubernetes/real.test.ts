import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROOT, runProcess } from '../support/run-process.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { findFacility, whyNoCluster } from './cluster/facility.ts';
import { cgroupOf } from './cluster/leftovers.ts';
import type { ProcessIdentity } from './cluster/process-start.ts';
import { NO_TRACES, networkOf, tracesOf } from './cluster/traces.ts';
import { eventually } from './cluster/wait.ts';

const SCRIPT = join(ROOT, 'test/kubernetes/real.ts');
const reason = whyNoCluster();

describe.skipIf(reason !== null)(`npm run cluster:real${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cache: ReturnType<typeof tempFolder>;
  let env: Readonly<Record<string, string | undefined>>;
  const real = (...args: string[]): ReturnType<typeof runProcess> => runProcess(process.execPath, [SCRIPT, ...args], { env });
  beforeEach(() => {
    // With what is built already, and without a person's own clusters, which `down` would take down.
    cache = tempFolder();
    const { folder } = findFacility();
    symlinkSync(folder, join(cache.path, basename(folder)));
    env = { PATH: process.env['PATH'], HOLDFAST_CACHE: cache.path };
  });
  afterEach(async () => {
    await real('down');
    cache[Symbol.dispose]();
  });

  /** What can be seen of the only cluster, which is there. */
  function seenOf(folder: string): () => ReturnType<typeof tracesOf> {
    const { holder } = JSON.parse(readFileSync(join(folder, 'record.json'), 'utf8')) as { readonly holder: ProcessIdentity };
    const [init] = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'latin1').trim().split(' ');
    const network = networkOf(Number(init));
    return () => tracesOf({ folder, cgroup: cgroupOf(basename(folder)), network });
  }

  async function expectNothingLeft(folder: string, seen: () => ReturnType<typeof tracesOf>): Promise<void> {
    await eventually('nothing to be left', () => (JSON.stringify(seen()) === JSON.stringify(NO_TRACES) ? true : null));
    expect(existsSync(folder)).toBe(false);
  }

  /** The folder of a cluster that is being made, once it has processes. */
  function folderOfBegun(starter: ChildProcess): Promise<string> {
    const clusters = join(cache.path, 'clusters');
    const ask = (): string | null => {
      const [id] = existsSync(clusters) ? readdirSync(clusters) : [];
      return id !== undefined && existsSync(join(clusters, id, 'control-plane/etcd')) ? join(clusters, id) : null;
    };
    return eventually('the begin of a cluster', ask, { hopeless: () => (starter.exitCode === null ? null : 'its starter has ended') });
  }

  it('leaves a cluster with a kubectl of its own, which takes files by relative paths, until `down` takes it down without a trace', async () => {
    const { code, stdout, stderr } = await real('--nodes=1');
    expect(code, stderr).toBe(0);
    const folder = stdout.match(/ in (\S+)$/m)?.[1] ?? '';
    const seen = seenOf(folder);
    const { stdout: nodes } = await runProcess(join(folder, 'kubectl'), ['get', 'nodes', '--no-headers']);
    expect(nodes).toMatch(/^node-1 +Ready +/);
    expect(stdout).toContain(' with 1 node, in ');
    const applied = await runProcess(join(folder, 'kubectl'), ['apply', '-f', 'runs.yaml'], { cwd: join(ROOT, 'examples/kubernetes') });
    expect(applied).toMatchObject({ code: 0, stdout: 'persistentvolumeclaim/runs created\n' });
    expect(seen().loopDevices).toHaveLength(1);
    expect(await real('down')).toMatchObject({ code: 0, stdout: `Taken down: ${basename(folder)}\n` });
    await expectNothingLeft(folder, seen);
    expect(await real('down')).toMatchObject({ code: 0, stdout: 'There is none.\n' });
  });

  it('leaves nothing when it is interrupted while it starts', async () => {
    const starter = spawn(process.execPath, [SCRIPT], { env, stdio: 'ignore' });
    const folder = await folderOfBegun(starter);
    const seen = seenOf(folder);
    starter.kill('SIGINT');
    expect(await once(starter, 'exit')).toEqual([130, null]);
    await expectNothingLeft(folder, seen);
  });

  it('leaves nothing after `down` when it is killed while it starts', async () => {
    const starter = spawn(process.execPath, [SCRIPT], { env, stdio: 'ignore' });
    const folder = await folderOfBegun(starter);
    const seen = seenOf(folder);
    starter.kill('SIGKILL');
    await once(starter, 'exit');
    expect(await real('down')).toMatchObject({ code: 0, stdout: `Taken down: ${basename(folder)}\n` });
    await expectNothingLeft(folder, seen);
  });

  it.each([['--nodes=0'], ['--nodes=51'], ['up'], ['down', 'now']])('refuses what it does not understand: %s', async (...args) => {
    const { code, stderr } = await real(...args);
    expect(code).toBe(64);
    expect(stderr).toContain(`not understood: ${args.join(' ')}\nnpm run cluster:real`);
  });
});
