import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProcessResult } from '../support/run-process.ts';
import type { KubeObject } from './cluster/api.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNoTorch } from './cluster/torch.ts';
import { eventually } from './cluster/wait.ts';
import { EXAMPLES, addPythonProgram, applyExample, fillExampleImage, imageOf, providePrograms, provideRuns } from './scenario/example.ts';
import { whyNoTrainers } from './scenario/host-trees.ts';
import { JOBS, PODS, podsOf, trueConditions } from './scenario/objects.ts';
import { tellingState } from './scenario/state.ts';
import { findTorch, packagesOf, pythonOf, uninterruptedTorchrun, weightsIn } from './scenario/torch-environment.ts';

/** As in the published patch. */
const STEPS = '1000';
/** Two ranks that wait for each other at every step are slow on a busy machine. */
const PATIENCE_MS = 15 * 60_000;
const torch = findTorch();
const reason = whyNoTrainers() ?? (torch === null ? whyNoTorch() : null);

describe.skipIf(reason !== null)(`torchrun in two pods${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  const environment = torch ?? '';
  let cluster: Cluster;
  let twin: Promise<ProcessResult>;
  beforeAll(async () => {
    const node = { diskMiB: 1200 };
    const fill = async (folder: string): Promise<void> => {
      await fillExampleImage(folder, 'torchrun');
      addPythonProgram(folder, 'torchrun', 'torch.distributed.run');
    };
    const images = [{ name: imageOf('torchrun'), content: fill }];
    cluster = await startCluster({ nodes: [node, node], images });
    twin = uninterruptedTorchrun(environment, STEPS);
  });
  afterAll(async () => {
    await Promise.allSettled([twin]);
    await cluster?.[Symbol.asyncDispose]();
  });

  const logOf = async (pod: string): Promise<string> => (await cluster.api.text(`${PODS}/${pod}/log`)) ?? '';

  it('both resume from one checkpoint after one of them was deleted, and end like their twin', () =>
    tellingState(cluster, async () => {
      const runs = await provideRuns(cluster);
      await providePrograms(cluster, { python: pythonOf(environment), packages: packagesOf(environment) });
      await cluster.run([...cluster.kubectlCommand, 'apply', '-f', join(EXAMPLES, 'kubernetes/runs.yaml')]);
      await applyExample(cluster, 'indexed');
      const hasCheckpoint = (): boolean =>
        readdirSync(runs).some((run) => readdirSync(join(runs, run)).some((name) => name.startsWith('step-')));
      const second = await eventually(
        'a checkpoint',
        async () => {
          const pods = await podsOf(cluster, 'torchrun');
          const ended = pods.find(({ status }) => /^(Succeeded|Failed)$/.test(String(status?.phase)));
          if (ended !== undefined) throw new Error(`${JSON.stringify(ended.status)}\n${await logOf(ended.metadata.name)}`);
          return hasCheckpoint() ? (pods.find(({ metadata }) => metadata.name.startsWith('torchrun-1-')) ?? null) : null;
        },
        { patienceMs: PATIENCE_MS },
      );
      await cluster.api.remove(`${PODS}/${second.metadata.name}`);
      const whenOver = async (): Promise<KubeObject | null> => {
        const found = await cluster.api.get(`${JOBS}/torchrun`);
        return trueConditions(found).some(({ type }) => type === 'Complete' || type === 'Failed') ? found : null;
      };
      const job = await eventually('the end of the Job', whenOver, { patienceMs: PATIENCE_MS });
      const finished = (await podsOf(cluster, 'torchrun')).filter(({ status }) => status?.phase === 'Succeeded');
      const logs = await Promise.all(finished.map(({ metadata }) => logOf(metadata.name)));
      expect(
        trueConditions(job).map(({ type }) => type),
        logs.join('\n'),
      ).toContain('Complete');
      expect(logs).toHaveLength(2);
      // Neither the deleted pod nor the pod that could not continue without it.
      expect(job.status?.['failed'] ?? 0).toBe(0);
      for (const log of logs) expect(Number(log.match(/^rank \d from step (\d+)$/m)?.[1])).toBeGreaterThan(99);

      const { code, stdout, stderr } = await twin;
      expect(code, stderr).toBe(0);
      const learned = weightsIn(stdout);
      expect(learned, stdout).toHaveLength(2);
      expect(new Set(weightsIn(logs.join('\n')))).toEqual(new Set(learned));
    }));
});
