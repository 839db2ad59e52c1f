import { expect, it } from 'vitest';
import { gang } from '../../../test/operator/gang-world.ts';
import type { Resource } from '../../kube/api/resource.ts';
import { plainKind } from '../../kube/memory/stored-kind.ts';

const GROUPS: Resource = { group: 'scheduling.x-k8s.io', version: 'v1alpha1', plural: 'podgroups', kind: 'PodGroup', isNamespaced: true };

it('the PodGroup of a gang says what a preemption would lose, and the TrainingRun does', async () => {
  const world = gang({}, { team: 'vision' });
  world.gangScheduler = 'other';
  world.cluster.install(plainKind(GROUPS));
  await world.start();
  expect(world.cluster.all(GROUPS)[0]?.metadata.annotations).toEqual({ team: 'vision' });
  const now = { lastGoodAgeMs: 60_000, accelerators: 8, unsavedAcceleratorSeconds: 480, saveSeconds: 4.5, readMs: world.clock.now() };
  world.progress = { step: 30, lastGoodStep: 20, loss: null, trial: null, ...now };
  await world.settle();
  expect(world.run).toMatchObject({ status: { progress: { unsavedAcceleratorSeconds: 480, saveSeconds: 4.5 } } });
  expect(world.cluster.all(GROUPS)[0]?.metadata.annotations).toEqual({
    team: 'vision',
    'holdfast.dev/last-sealed': '2025-12-31T23:59:00Z',
    'holdfast.dev/unsaved-accelerator-seconds': '480',
    'holdfast.dev/save-seconds': '4.5',
  });
});
