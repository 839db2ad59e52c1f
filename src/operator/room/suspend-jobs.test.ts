import { describe, expect, it } from 'vitest';
import { JobRoomWorld, type JobRoomWorldOptions } from '../../../test/operator/job-room-world.ts';
import { PODS } from '../../kube/api/resources.ts';
import { textAt } from '../../kube/objects/fields.ts';

const MAY = { 'holdfast.dev/may-suspend': 'true' };
const NONE = 'NoRoomToMake: no room can be made now: no supervised gang runs that may leave now';
const MARK = 'holdfast.dev/suspended-for';

/** A Job that runs and reports its saves; then a pod asks for room. */
async function asked(options: JobRoomWorldOptions = {}): Promise<JobRoomWorld> {
  const world = new JobRoomWorld(options);
  world.report(90, 80, 30_000);
  await world.begin();
  await world.round();
  return world;
}

/** The Job was suspended, and its pod has left. */
async function away(): Promise<JobRoomWorld> {
  const world = await asked();
  await world.clock.advance(4000);
  world.report(95, 95, 500);
  await world.round();
  world.finishAll();
  await world.round();
  return world;
}

const withdraw = (world: JobRoomWorld): unknown => world.cluster.delete(PODS, { namespace: 'web', name: 'api' }, { graceSeconds: 0 });

describe('a Job of Kubernetes that may be suspended', () => {
  it('saves, is suspended, and is resumed when all of it fits', async () => {
    const world = await asked();
    expect([world.stage, world.notices, world.marks]).toEqual(['asked', ['save-requested'], []]);
    await world.clock.advance(4000);
    world.report(95, 95, 500);
    await world.round();
    expect([world.stage, world.pods, world.marks]).toEqual(['leaving', ['j-0-1-'], ['suspended', 'for web/api']]);
    world.finishAll();
    await world.round();
    expect([world.stage, world.pods, textAt(world.run, 'status', 'phase')]).toEqual(['away', [], 'Waiting']);
    world.bind();
    await world.clock.advance(60_000);
    await world.round();
    expect([world.stage, world.marks]).toEqual(['away', ['suspended', 'for web/api']]);
    withdraw(world);
    await world.round();
    world.startPods();
    await world.round();
    expect([world.stage, world.pods, world.marks, world.notices]).toEqual(['back', ['j-0-2'], [], [null]]);
    expect(world.events.filter((event) => event.includes('Room'))).toEqual([
      'MakingRoom: Job n/j saves and leaves node-1: the room comes within 33s, 3s (the P95 of its save) and 30s of teardown',
      'RoomAsked: asked to save and to leave node-1 by 2026-01-01T00:01:00Z, to make room for web/api',
      'RoomSaved: saved at step 95 in 4s; the Job is suspended now',
      'RoomLeft: all pods have left; the Job made room for web/api on node-1, and is resumed when all of it fits',
      'RoomBack: back after 1m: the Job is resumed',
    ]);
    expect(textAt(world.run, 'status', 'madeRoom')).toBe(
      'for web/api: asked 2026-01-01T00:00:00Z, saved at step 95 in 4s, left 2026-01-01T00:00:04Z, back after 1m',
    );
    expect(world.run).toMatchObject({ status: { attempt: 2, budgets: { interruptions: 1, errors: 0 }, totals: { lostSteps: 0 } } });
  });

  it('stays when it has not saved before the deadline', async () => {
    const world = await asked();
    await world.clock.advance(60_000);
    await world.round();
    expect([world.stage, world.notices, world.marks, world.pods]).toEqual(['refused', [null], [], ['j-0-1']]);
    expect(world.events).toContain('RoomRefused: the Job stays: no save was seen within 1m');
    expect(textAt(world.run, 'status', 'madeRoom')).toContain('stays, because no save was seen within 1m');
    expect(textAt(world.asking(), 'status', 'nominatedNodeName')).toBeNull();
  });

  it('stays when the pod goes away', async () => {
    const world = await asked();
    withdraw(world);
    await world.round();
    expect([world.stage, world.notices, world.pods]).toEqual(['called-off', [null], ['j-0-1']]);
  });

  it('stays when a budget refuses an eviction late', async () => {
    const world = await asked();
    world.protect();
    await world.clock.advance(4000);
    world.report(95, 95, 500);
    await world.round();
    expect([world.stage, world.notices, world.marks, world.pods]).toEqual(['refused', [null], [], ['j-0-1']]);
  });

  it('stays suspended when somebody takes the mark of the operator off', async () => {
    const world = await away();
    world.change({ annotations: { [MARK]: null } });
    withdraw(world);
    await world.round();
    expect([world.stage, world.marks]).toEqual(['called-off', ['suspended']]);
  });

  it('stays suspended when somebody suspended it after it was asked', async () => {
    const world = await asked();
    world.change({ suspend: true });
    await world.round();
    withdraw(world);
    await world.round();
    expect([world.stage, world.marks]).toEqual(['called-off', ['suspended']]);
  });

  it('is not suspended again when somebody resumes it', async () => {
    const world = await away();
    world.change({ suspend: false });
    await world.round();
    expect([world.stage, world.marks]).toEqual(['back', []]);
  });

  it.each<readonly [title: string, options: JobRoomWorldOptions]>([
    ['without the annotation', { annotations: {} }],
    ['that Kueue manages', { metadata: { labels: { 'holdfast.dev/run': 'j', 'kueue.x-k8s.io/queue-name': 'q' } } }],
    ['that another controller runs', { spec: { managedBy: 'kueue.x-k8s.io/multikueue' } }],
    [
      'that a JobSet resumes',
      {
        metadata: { ownerReferences: [{ apiVersion: 'jobset.x-k8s.io/v1alpha2', kind: 'JobSet', name: 's', uid: 's', controller: true }] },
      },
    ],
    ['whose indexes are runs of their own', { spec: { completionMode: 'Indexed', backoffLimitPerIndex: 1 } }],
    ['that has run for less than its min-runtime', { annotations: { ...MAY, 'holdfast.dev/min-runtime': '1h' } }],
  ])('is not asked: a Job %s', async (_, options) => {
    const world = await asked(options);
    expect(world.notices).toEqual([null]);
    expect(world.events).toContain(NONE);
  });

  it('is not asked when its supervisor reports no saves', async () => {
    const world = new JobRoomWorld();
    await world.begin();
    await world.round();
    expect(world.events).toContain(NONE);
  });
});
