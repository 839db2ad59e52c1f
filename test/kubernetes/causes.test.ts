import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runProcess } from '../support/run-process.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { cgroupVersion } from './cluster/cgroups.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNoCluster } from './cluster/facility.ts';
import type { NodeOptions } from './cluster/options.ts';
import { CAUSES } from './scenario/causes.ts';
import { interruptedRun } from './scenario/interrupted-run.ts';
import { type Recorded, writeNotes } from './scenario/notes.ts';
import { GPU, type Manner, POOL, TRAINER } from './scenario/training-job.ts';

const reason = whyNoCluster();
/** Well below what is free; a filled disk is well above. */
const EVICTION = { 'nodefs.available': '300Mi', 'imagefs.available': '100Mi' };
const node = (pool: Manner): NodeOptions => ({
  diskMiB: 1200,
  resources: { [GPU]: 1 },
  labels: { [POOL]: pool },
  evictionHard: EVICTION,
  shutdownGraceSeconds: 30,
  // How full an emptyDir is: by itself a kubelet looks once a minute.
  kubelet: { volumeStatsAggPeriod: '2s' },
});

/** The numbers of the same training when nobody interrupts it. */
async function uninterrupted(): Promise<string> {
  using folder = tempFolder();
  const shared = join(folder.path, 'shared');
  mkdirSync(shared);
  writeFileSync(join(shared, 'go'), '');
  const { code, stderr } = await runProcess('python3', [TRAINER, 'bare', shared, folder.path]);
  expect(code, stderr).toBe(0);
  return readFileSync(join(shared, 'result'), 'utf8').trim();
}

/** Waits for both also when one fails: what goes on would meet the next test. */
async function both<Value>(first: Promise<Value>, second: Promise<Value>): Promise<readonly [Value, Value]> {
  await Promise.allSettled([first, second]);
  return Promise.all([first, second]);
}

describe.skipIf(reason !== null)(`on a real cluster${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;
  let twin: string;
  const recorded: Recorded[] = [];

  beforeAll(async () => {
    [twin, cluster] = await Promise.all([
      uninterrupted(),
      startCluster({ nodes: [node('bare'), node('bare'), node('holdfast'), node('holdfast')] }),
    ]);
  });
  afterAll(async () => {
    if (process.env['HOLDFAST_WRITE_NOTES'] === '1') {
      const [first] = await cluster.api.list('/api/v1/nodes');
      const runtime = String(first?.status?.nodeInfo.containerRuntimeVersion);
      writeNotes(recorded, { version: cluster.version, runtime, cgroups: cgroupVersion() });
    }
    await cluster?.[Symbol.asyncDispose]();
  });

  it.for(CAUSES.map((cause) => [cause.title, cause] as const))(
    '%s: under `holdfast run` it is never called complete before it is, and ends like one that was left alone',
    async ([, cause]) => {
      const [bare, supervised] = await both(interruptedRun(cluster, cause, 'bare'), interruptedRun(cluster, cause, 'holdfast'));
      for (const [manner, outcome] of [
        ['bare', bare],
        ['holdfast', supervised],
      ] as const)
        recorded.push({ cause: cause.title, manner, outcome, isFinished: outcome.result === twin });
      // The control. Whoever was killed is started again, and finishes; whoever left with 0 half-way only where the Job does not count it.
      const isLost = bare.exitCode === 0 && cause.exitWithZero === 'complete';
      expect(bare).toMatchObject({
        phase: bare.exitCode === 0 ? 'Succeeded' : 'Failed',
        job: 'Complete',
        result: isLost ? null : twin,
      });

      expect(supervised).toMatchObject({ phase: 'Failed', job: 'Complete', result: twin });
      expect(supervised.nextNode).not.toBe(supervised.firstNode);
      expect(cause.exitCodes).toContain(supervised.exitCode);
      // Saved at step 100 at the latest; where there was time for it, at the step where it was interrupted.
      expect([101, 111]).toContain(supervised.resumedWith);
      if (supervised.exitCode === 143) expect(JSON.parse(supervised.message)).toMatchObject({ exitCode: 143, provisional: false });
    },
  );
});
