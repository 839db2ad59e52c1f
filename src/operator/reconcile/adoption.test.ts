import { describe, expect, it } from 'vitest';
import { gang, type GangWorld } from '../../../test/operator/gang-world.ts';
import { valueOf } from '../../../test/kube/memory-world.ts';
import { PODS, SERVICES } from '../../kube/api/resources.ts';
import { ATTEMPT_LABEL } from '../kinds/names.ts';
import { parseJob } from '../kinds/parse-job.ts';
import { podFor } from '../kinds/pod.ts';
import { PYTORCH_JOB } from '../kinds/pytorch.ts';
import { placesOf } from './places.ts';

/** v1 creates the pod of this name. */
function createForV1(world: GangWorld, name: string): void {
  const job = parseJob(PYTORCH_JOB, world.job);
  const { settings } = world.world();
  const choice = { attempt: 1, isInGang: false, group: null, avoided: { nodes: [], zones: [] }, machines: null, settings };
  const pod = placesOf(job)
    .map((place) => podFor(job, place, choice))
    .find(({ metadata }) => metadata.name === name);
  if (pod === undefined) throw new Error(`the job has no pod ${name}`);
  const { [ATTEMPT_LABEL]: _, ...labels } = pod.metadata.labels ?? {};
  valueOf(world.cluster.create(PODS, { ...pod, metadata: { ...pod.metadata, labels } }));
}

const NAMES = ['j-master-0', 'j-worker-0', 'j-worker-1'];

/** A gang that v1 has started. */
function gangOfV1(): GangWorld {
  const world = gang();
  for (const name of NAMES) createForV1(world, name);
  world.startPods();
  return world;
}

const uids = (world: GangWorld): readonly string[] => world.cluster.all(PODS).map(({ metadata }) => metadata.uid);

async function restart(world: GangWorld): Promise<void> {
  world.remove('j-worker-0');
  await world.settle();
  world.finishAll();
  await world.settle();
}

describe('a job that runs under another controller', () => {
  it('is adopted without a change of its pods when its gang is complete', async () => {
    const world = gangOfV1();
    const before = uids(world);
    await world.settle();
    expect([uids(world), world.conditions]).toEqual([before, 'Created Running']);
    expect(world.run['status']).toMatchObject({ attempt: 1, adopted: { attempt: 1, uids: before } });
  });

  it('restarts as a gang once it is adopted', async () => {
    const world = gangOfV1();
    await world.settle();
    await restart(world);
    expect(world.pods).toEqual(NAMES.map((name) => `${name}#2`));
  });

  it('is left alone while its pods are still being created, with one event, and adopted later', async () => {
    const world = gang();
    createForV1(world, 'j-master-0');
    await world.settle();
    await world.settle();
    expect([world.pods, world.cluster.all(SERVICES), world.job['status']]).toEqual([['j-master-0#'], [], undefined]);
    expect(world.events).toEqual([
      expect.stringContaining('AnotherController: another controller creates pods of this PyTorchJob, so it is left alone: j-master-0'),
    ]);
    await world.clock.advance(5000);
    createForV1(world, 'j-worker-0');
    expect(await world.reconcile()).toEqual({ kind: 'again', afterMs: 30_000 });
    await world.clock.advance(30_000);
    await world.settle();
    expect(world.pods).toEqual(['j-master-0#', 'j-worker-0#', 'j-worker-1#1']);
    expect(world.run['status']).toMatchObject({ phase: 'Starting' });
  });

  it('is left alone again when that controller replaces a pod', async () => {
    const world = gangOfV1();
    await world.settle();
    await world.clock.advance(60_000);
    world.finish('j-worker-0');
    createForV1(world, 'j-worker-0');
    await world.settle();
    expect(world.pods).toEqual(NAMES.map((name) => `${name}#`));
    expect(world.events.at(-1)).toMatch(/^AnotherController/);
  });

  it('is adopted again in a later attempt, after it was handed back', async () => {
    const world = gangOfV1();
    await world.settle();
    await restart(world);
    world.startPods();
    await world.settle();
    // v1 replaces a pod while this operator is away.
    world.finish('j-worker-1');
    createForV1(world, 'j-worker-1');
    world.startPods();
    await world.clock.advance(60_000);
    const before = uids(world);
    await world.settle();
    expect([uids(world), world.attempt]).toEqual([before, 2]);
    expect(world.run['status']).toMatchObject({ phase: 'Running', adopted: { attempt: 2 } });
  });
});
