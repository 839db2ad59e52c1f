import { describe, expect, it } from 'vitest';
import { ALL, gang, type GangWorld } from '../../../test/operator/gang-world.ts';
import { PODS } from '../../kube/api/resources.ts';
import { textAt } from '../../kube/objects/fields.ts';
import { refusal } from '../../kube/memory/refusals.ts';

type Fields = Readonly<Record<string, unknown>>;

const UNSCHEDULABLE = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };
const waiting = (reason: string, message = ''): Fields => ({
  phase: 'Pending',
  containerStatuses: [{ name: 'pytorch', state: { waiting: { reason, message } } }],
});

/** A gang of which worker 1 has had this status for a while. */
async function stuck(status: Fields, ms: number): Promise<GangWorld> {
  const world = gang();
  await world.settle();
  world.startPods();
  world.setStatus('j-worker-1', { phase: 'Pending', ...status });
  await world.settle();
  await world.clock.advance(ms);
  await world.settle();
  return world;
}

const told = (world: GangWorld): readonly string[] => world.events.filter((event) => event.startsWith('PodNotStarting'));
const message = (world: GangWorld): string | null => textAt(world.run, 'status', 'message');

describe('a pod that does not start', () => {
  it.each<[string, Fields, number, string, string]>([
    [
      'fits no node',
      { conditions: [{ ...UNSCHEDULABLE, message: '0/3 nodes are available: 3 Insufficient nvidia.com/gpu.' }] },
      30_000,
      'fits no node',
      '(0/3 nodes are available: 3 Insufficient nvidia.com/gpu.): make room or add nodes',
    ],
    [
      'waits for a volume that never binds',
      { conditions: [{ ...UNSCHEDULABLE, message: 'pod has unbound immediate PersistentVolumeClaims' }] },
      30_000,
      'waits for a volume that does not bind',
      ': create the claim, or see with kubectl describe pvc why it does not bind',
    ],
    [
      'has a wrong image',
      waiting('ImagePullBackOff', 'Back-off pulling image "train:typo"'),
      30_000,
      'cannot pull its image',
      '(Back-off pulling image "train:typo"): correct the image or the imagePullSecrets',
    ],
    [
      'lacks a Secret',
      waiting('CreateContainerConfigError', 'secret "s3" not found'),
      30_000,
      'lacks something',
      '(secret "s3" not found): ',
    ],
    ['waits for anything else', waiting('CrashLoopBackOff'), 30_000, 'waits with CrashLoopBackOff', 'kubectl logs'],
    ['waits for its mounts', waiting('ContainerCreating'), 300_000, 'has a node, and its containers do not start', 'kubectl describe pod'],
  ])('because it %s says so in the TrainingRun, and in one event with the way out', async (_, status, ms, what, wayOut) => {
    const early = await stuck(status, ms - 1000);
    expect([told(early), message(early)]).toEqual([[], '1 of 3 pods do not run yet']);
    const world = await stuck(status, ms);
    expect(message(world)).toContain(`1 of 3 pods do not run yet: j-worker-1 ${what}`);
    expect(told(world)).toEqual([expect.stringContaining(wayOut)]);
    await world.clock.advance(600_000);
    await world.settle();
    expect([told(world).length, world.attempt, world.pods]).toEqual([1, 1, ALL(1)]);
  });

  it('writes nothing when the scheduler only puts it in other words', async () => {
    const world = await stuck({ conditions: [{ ...UNSCHEDULABLE, message: '0/3 nodes are available' }] }, 30_000);
    const before = world.run.metadata.resourceVersion;
    world.setStatus('j-worker-1', { phase: 'Pending', conditions: [{ ...UNSCHEDULABLE, message: '0/4 nodes are available' }] });
    await world.settle();
    expect([world.run.metadata.resourceVersion, told(world).length]).toEqual([before, 1]);
  });

  it('is not stuck while an init container runs, as one that waits for the master does', async () => {
    const init = { name: 'init-pytorch', state: { running: { startedAt: '2026-11-18T08:00:00Z' } } };
    const world = await stuck({ ...waiting('PodInitializing'), initContainerStatuses: [init] }, 3_600_000);
    expect([told(world), message(world)]).toEqual([[], '1 of 3 pods do not run yet']);
  });
});

describe('a pod that a quota refuses', () => {
  it('is asked for again, and the TrainingRun and an event name the quota', async () => {
    const world = gang();
    const { api } = world;
    const quota = 'pods "j-worker-1" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=8';
    const create: typeof api.create = (resource, object, options) =>
      resource === PODS ? Promise.resolve(refusal('forbidden', quota)) : api.create(resource, object, options);
    const own = (name: string | symbol): unknown => (Reflect.get(api, name) as (...words: unknown[]) => unknown).bind(api);
    world.intercept(() => new Proxy(api, { get: (_, name) => (name === 'create' ? create : own(name)) }));
    for (let passes = 0; passes < 3; passes++) expect(await world.reconcile()).toMatchObject({ kind: 'retry' });
    expect(message(world)).toBe(`its pods cannot be created: ${quota}`);
    expect(new Set(world.events.filter((event) => event.startsWith('FailedCreatePod')))).toEqual(
      new Set([`FailedCreatePod: Error creating: ${quota}`]),
    );
    expect(world.attempt).toBe(1);
  });
});
