import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ProcessResult, ROOT, bash, runProcess } from '../support/run-process.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { hasEnded } from './cluster/ended.ts';
import { findFacility } from './cluster/facility.ts';
import { cgroupOf } from './cluster/leftovers.ts';
import { whenNothingIsLeft } from './cluster/nothing-left.ts';
import { ownCacheWithFacility } from './cluster/own-cache.ts';
import type { ProcessIdentity } from './cluster/process-start.ts';
import { networkOf, tracesOf } from './cluster/traces.ts';
import { eventually } from './cluster/wait.ts';
import { whyNoTrainers } from './scenario/host-trees.ts';
import { uninterrupted } from './scenario/twin.ts';

const SCRIPT = join(ROOT, 'test/kubernetes/real.ts');
const reason = whyNoTrainers();

interface Place {
  readonly cache: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly real: (...args: string[]) => Promise<ProcessResult>;
}

/**
 * Uses the built programs in a private cache, without the person's own clusters, which `down` would
 * remove.
 */
async function inPlaceOfItsOwn(use: (place: Place) => Promise<void>): Promise<void> {
  await using cache = ownCacheWithFacility();
  const env = { PATH: process.env['PATH'], HOLDFAST_CACHE: cache.path };
  const real: Place['real'] = (...args) => runProcess(process.execPath, [SCRIPT, ...args], { env });
  await use({ cache: cache.path, env, real });
}

/** What is visible of the only cluster. */
function seenOf(folder: string): () => ReturnType<typeof tracesOf> {
  const { holder } = JSON.parse(readFileSync(join(folder, 'record.json'), 'utf8')) as { readonly holder: ProcessIdentity };
  const [init] = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'latin1').trim().split(' ');
  const network = networkOf(Number(init));
  return () => tracesOf({ folder, cgroup: cgroupOf(basename(folder)), network });
}

async function expectNothingLeft(folder: string, seen: () => ReturnType<typeof tracesOf>): Promise<void> {
  await whenNothingIsLeft(seen);
  expect(existsSync(folder)).toBe(false);
}

/** The folder of a starting cluster, once it has processes. */
function folderOfBegun(cache: string, starter: ChildProcess): Promise<string> {
  const clusters = join(cache, 'clusters');
  const ask = (): string | null => {
    const ids = existsSync(clusters) ? readdirSync(clusters) : [];
    const begun = ids.find((id) => existsSync(join(clusters, id, 'control-plane/etcd')));
    return begun === undefined ? null : join(clusters, begun);
  };
  return eventually('the begin of a cluster', ask, { hopeless: () => (hasEnded(starter) ? 'its starter has ended' : null) });
}

/** A command line that runs beside others; it ends when it is no longer used. */
function goingOn(line: string): Disposable & { readonly said: () => string; readonly ended: Promise<unknown[]> } {
  const shell = spawn('bash', ['-c', line], { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  let said = '';
  shell.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = once(shell, 'close');
  const end = (): void => {
    if (!hasEnded(shell) && shell.pid !== undefined) process.kill(-shell.pid, 'SIGKILL');
  };
  return { said: () => said, ended, [Symbol.dispose]: end };
}

function hasCheckpoint(run: string): boolean {
  return existsSync(run) && readdirSync(run).some((name) => name.startsWith('step-'));
}

describe.skipIf(reason !== null)(`npm run cluster:real${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  it.concurrent('leaves a cluster on which its printed commands run the example, until `down` leaves no trace', () =>
    inPlaceOfItsOwn(async ({ real }) => {
      using own = tempFolder();
      copyFileSync(findFacility().unpacked('bin/busybox'), join(own.path, 'busybox'));
      const { code, stdout, stderr } = await real(`--image=registry.example/own:1=${own.path}`);
      expect(code, stderr).toBe(0);
      expect(stdout).toContain(' with 2 nodes, in ');
      const folder = stdout.match(/ in (\S+)$/m)?.[1] ?? '';
      const seen = seenOf(folder);
      const [nodes = '', apply = '', watch = '', remove = '', log = '', anew = '', ...more] = [...stdout.matchAll(/^ {4}(.*)$/gm)].map(
        ([, line]) => String(line),
      );
      expect(more).toEqual([]);
      /** Runs a command line that must succeed. */
      const said = async (line: string): Promise<string> => {
        const result = await bash(line);
        expect(result.code, `${line}\n${result.stdout}${result.stderr}`).toBe(0);
        return result.stdout;
      };
      const kubectl = join(folder, 'kubectl');
      const nodeOfPod = (): Promise<string> =>
        said(`${kubectl} get pods --selector=job-name=stdlib --output=jsonpath={.items[*].spec.nodeName}`);

      expect(await said(nodes)).toMatch(/^node-1 +Ready .*\nnode-2 +Ready /m);
      expect(await said(apply)).toBe('persistentvolumeclaim/runs created\njob.batch/stdlib created\n');
      expect(await said(`cd ${join(ROOT, 'examples/kubernetes')} && ${kubectl} apply -f runs.yaml`)).toContain('runs unchanged');
      using watched = goingOn(watch);
      const run = String(log.split(' ').at(-1));
      const first = await eventually('a place for its pod', async () => (await nodeOfPod()) || null);
      await said(`${kubectl} cordon ${first}`);
      await eventually('a checkpoint', () => (hasCheckpoint(run) && watched.said().includes('from step 0\n') ? true : null));
      await said(remove);
      expect(await watched.ended).toEqual([0, null]);
      await said(
        `${kubectl} run own --image=registry.example/own:1 --image-pull-policy=Never --restart=Never --command -- /busybox echo mine`,
      );
      await said(`${kubectl} wait --for=jsonpath={.status.phase}=Succeeded --timeout=10m pod/own`);
      expect(await said(`${kubectl} logs own`)).toBe('mine\n');
      expect(await said(log)).toMatch(/interrupted[^]*finished/);

      await said(`${kubectl} wait --for=condition=Complete --timeout=10m job/stdlib`);
      const whole = await said(`${kubectl} logs job/stdlib`);
      expect(Number(whole.match(/^from step (\d+)$/m)?.[1])).toBeGreaterThan(200);
      expect(whole).toContain(await uninterrupted());
      expect(await nodeOfPod()).not.toBe(first);
      await said(anew);
      expect(existsSync(run)).toBe(false);

      expect(seen().loopDevices).toHaveLength(2);
      expect(await real('down')).toMatchObject({ code: 0, stdout: `Taken down: ${basename(folder)}\n` });
      await expectNothingLeft(folder, seen);
      expect(await real('down')).toMatchObject({ code: 0, stdout: 'There is none.\n' });
    }));

  it.concurrent('leaves nothing behind when it is interrupted while it starts, even by a second Ctrl-C', () =>
    inPlaceOfItsOwn(async ({ cache, env }) => {
      const starter = spawn(process.execPath, [SCRIPT, '--nodes=1'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
      let said = '';
      starter.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
      const folder = await folderOfBegun(cache, starter);
      const seen = seenOf(folder);
      const ended = once(starter, 'close');
      starter.kill('SIGINT');
      await eventually('the first to be heard', () => (said.includes('SIGINT came: taking down what was made …\n') ? true : null));
      starter.kill('SIGINT');
      expect(await ended, said).toEqual([130, null]);
      expect(said).toMatch(/error: SIGINT came\nNothing of a cluster was left behind\.\n$/);
      await expectNothingLeft(folder, seen);
    }));
});
