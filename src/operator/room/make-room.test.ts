import { describe, expect, it } from 'vitest';
import { mortalApi } from '../../../test/operator/mortal-api.ts';
import { JobRoomWorld } from '../../../test/operator/job-room-world.ts';
import { RoomWorld } from '../../../test/operator/room-world.ts';
import { valueOf } from '../../../test/kube/memory-world.ts';
import { EVENTS, PODS } from '../../kube/api/resources.ts';
import { textAt } from '../../kube/objects/fields.ts';

const BOTH = (attempt: number, mark = ''): readonly string[] => ['j-master-0', 'j-worker-0'].map((name) => `${name}#${attempt}${mark}`);

/** A gang that runs, and has saved; then a pod asks for room. */
async function asked(world = new RoomWorld()): Promise<RoomWorld> {
  world.report(90, 80, 30_000);
  await world.begin();
  await world.round();
  return world;
}

describe('a pod that asks for room', () => {
  it('reserves the node, has the gang save, and gets the room; the gang comes back when all of it fits', async () => {
    const world = await asked();
    expect(textAt(world.asking(), 'status', 'nominatedNodeName')).toBe('node-1');
    expect([world.stage, world.notices, world.pods]).toEqual(['asked', ['save-requested', 'save-requested'], BOTH(1)]);
    await world.clock.advance(4000);
    world.report(95, 95, 500);
    await world.round();
    expect([world.stage, world.pods]).toEqual(['leaving', BOTH(1, '-')]);
    world.finishAll();
    await world.round();
    expect([world.stage, world.pods, textAt(world.run, 'status', 'phase')]).toEqual(['away', [], 'Waiting']);
    world.bind();
    await world.clock.advance(60_000);
    await world.round();
    expect([world.stage, world.pods]).toEqual(['away', []]);
    world.cluster.delete(PODS, { namespace: 'web', name: 'api' }, { graceSeconds: 0 });
    await world.round();
    expect([world.stage, world.pods]).toEqual(['back', BOTH(2)]);
    expect(world.events.filter((event) => /Room|Evict/.test(event))).toEqual([
      'MakingRoom: PyTorchJob n/j saves and leaves node-1: the room comes within 33s, 3s (the P95 of its save) and 30s of teardown',
      'RoomAsked: asked to save and to leave node-1 by 2026-01-01T00:01:00Z, to make room for web/api',
      'RoomSaved: saved at step 95 in 4s; leaves now',
      'RoomLeft: all pods have left; it made room for web/api on node-1, and waits until all of it fits',
      'RoomBack: back after 1m: attempt 2 starts',
    ]);
    expect(textAt(world.run, 'status', 'madeRoom')).toBe(
      'for web/api: asked 2026-01-01T00:00:00Z, saved at step 95 in 4s, left 2026-01-01T00:00:04Z, back after 1m',
    );
    expect(world.run).toMatchObject({ status: { budgets: { interruptions: 1, errors: 0 }, totals: { lostSteps: 0 } } });
  });

  it('has the gang leave at the deadline, also unsaved', async () => {
    const world = await asked(new RoomWorld());
    await world.clock.advance(59_000);
    await world.round();
    expect(world.stage).toBe('asked');
    await world.clock.advance(1000);
    await world.round();
    expect([world.stage, world.pods]).toEqual(['leaving', BOTH(1, '-')]);
    expect(world.events).toContain('RoomDeadline: no save was seen within 1m; leaves with the grace of its pods');
  });

  it('gives the gang the time that its own annotation says', async () => {
    const world = new RoomWorld();
    await world.begin({ annotations: { 'holdfast.dev/make-room-deadline': '5s' } });
    await world.round();
    await world.clock.advance(5000);
    await world.round();
    expect(world.stage).toBe('leaving');
  });

  it.each([
    ['goes away', (world: RoomWorld) => void world.cluster.delete(PODS, { namespace: 'web', name: 'api' }, { graceSeconds: 0 })],
    ['finds a node by itself', (world: RoomWorld) => world.bind()],
  ])('takes the notice back when it %s, and the gang trains on', async (_, change) => {
    const world = await asked();
    change(world);
    await world.round();
    expect([world.stage, world.notices, world.pods]).toEqual(['called-off', [null, null], BOTH(1)]);
    expect(world.events).toContain('RoomCalledOff: web/api does not wait any more: the gang stays');
  });

  it('asks for the same pods anew after it was called off', async () => {
    const world = await asked();
    world.cluster.delete(PODS, { namespace: 'web', name: 'api' }, { graceSeconds: 0 });
    await world.round();
    await world.clock.advance(10_000);
    world.ask({ name: 'second' });
    await world.round();
    expect([world.stage, world.notices]).toEqual(['asked', ['save-requested', 'save-requested']]);
  });

  it('restores the gang when a budget refuses an eviction late, and does not ask it again soon', async () => {
    const world = await asked();
    world.budget(0);
    await world.clock.advance(4000);
    world.report(95, 95, 500);
    await world.round();
    expect([world.stage, world.notices, world.pods]).toEqual(['refused', [null, null], BOTH(1)]);
    expect(textAt(world.asking(), 'status', 'nominatedNodeName')).toBeNull();
    expect(world.asking().metadata.annotations).not.toHaveProperty('holdfast.dev/making-room');
    expect(world.events).toContain('NoRoomToMake: no room can be made now: no supervised gang runs that may leave now');
  });

  it('restarts a gang of which a pod had left before a budget refused the next', async () => {
    const world = await asked();
    world.budget(1);
    await world.clock.advance(4000);
    world.report(95, 95, 500);
    await world.round();
    world.finishAll();
    await world.round();
    expect([world.stage, world.attempt, world.pods]).toEqual(['refused', 2, BOTH(2)]);
  });

  it('counts a budget for the whole gang, and asks no gang where it does not allow that', async () => {
    const world = new RoomWorld();
    await world.start();
    world.budget(1);
    world.ask();
    await world.round();
    expect([world.stage, world.notices]).toEqual([null, [null, null]]);
    expect(world.events).toContain(
      'NoRoomToMake: no room can be made now: a PodDisruptionBudget keeps every set of gangs whose leaving would help',
    );
  });

  it.each([
    ['no supervisor', new RoomWorld({ command: ['python', 'train.py'] })],
    ['a min-runtime that is not over', new RoomWorld({ annotations: { 'holdfast.dev/min-runtime': '1h' } })],
  ])('asks no gang with %s', async (_, world) => {
    await asked(world);
    expect(world.notices).toEqual([null, null]);
    expect(world.events).toContain('NoRoomToMake: no room can be made now: no supervised gang runs that may leave now');
  });

  it('asks no gang of its own priority', async () => {
    const world = new RoomWorld();
    await world.begin({ priority: 10 });
    await world.round();
    expect(world.events).toContain('NoRoomToMake: no room can be made now: no gang that may leave has a lower priority');
  });

  it('waits while an autoscaler has announced a node for it', async () => {
    const world = new RoomWorld();
    await world.begin();
    const { uid } = world.asking().metadata;
    const metadata = { name: 'e', namespace: 'web' };
    const involvedObject = { uid };
    const message = 'pod triggered scale-up';
    valueOf(
      world.cluster.create(EVENTS, { apiVersion: 'v1', kind: 'Event', metadata, involvedObject, reason: 'TriggeredScaleUp', message }),
    );
    await world.round();
    expect(world.events).toContain('RoomComesByItself: no gang leaves, because an autoscaler has announced a node: pod triggered scale-up');
    await world.clock.advance(15 * 60_000 + 1000);
    await world.round();
    expect(world.stage).toBe('asked');
  });

  it('says so when its class lets the scheduler evict first', async () => {
    const world = new RoomWorld();
    await world.begin({ preemptionPolicy: 'PreemptLowerPriority' });
    await world.round();
    expect(world.events.filter((event) => event.startsWith('MayEvictFirst'))).toHaveLength(1);
  });

  it('waits while room is being made for another pod on the only node that helps', async () => {
    const world = await asked();
    world.ask({ name: 'second' });
    await world.round();
    expect(textAt(world.asking('second'), 'status', 'nominatedNodeName')).toBeNull();
    expect(world.events).toContain('NoRoomToMake: no room can be made now: no supervised gang runs that may leave now');
  });

  it('lets the gang come back when the room that was made does not get it a node, and does not ask that gang again', async () => {
    const world = await asked();
    await world.clock.advance(60_000);
    await world.round();
    world.finishAll();
    await world.round();
    await world.clock.advance(61_000);
    await world.round();
    expect(world.asking().metadata.annotations).not.toHaveProperty('holdfast.dev/making-room');
    world.startPods();
    await world.round();
    expect([world.stage, world.pods, world.notices]).toEqual(['back', BOTH(2), [null, null]]);
  });
});

describe('an elastic gang with replicas to spare', () => {
  const FOUR = (attempt: number, ...gone: readonly number[]): readonly string[] =>
    [0, 1, 2, 3].filter((index) => !gone.includes(index)).map((index) => `j-worker-${index}#${attempt}`);

  it('saves, gives up only what is needed, trains on, and gets its replica back in the same attempt', async () => {
    const world = await asked(new RoomWorld({ elastic: { workers: 4, least: 2 } }));
    expect([world.stage, new Set(world.notices)]).toEqual(['asked', new Set(['save-requested'])]);
    await world.clock.advance(4000);
    world.report(95, 95, 500);
    await world.round();
    expect([world.stage, world.pods]).toEqual(['leaving', [...FOUR(1, 3), 'j-worker-3#1-']]);
    world.finishAll();
    await world.round();
    expect([world.stage, world.pods, textAt(world.run, 'status', 'phase')]).toEqual(['away', FOUR(1, 3), 'Running']);
    world.bind();
    await world.round();
    expect(world.pods).toEqual(FOUR(1, 3));
    world.cluster.delete(PODS, { namespace: 'web', name: 'api' }, { graceSeconds: 0 });
    await world.round();
    world.startPods();
    await world.round();
    expect([world.stage, world.pods, world.attempt, new Set(world.notices)]).toEqual(['back', FOUR(1), 1, new Set([null])]);
    expect(world.events.filter((event) => event.includes('Room'))).toEqual([
      'MakingRoom: PyTorchJob n/j saves and gives up j-worker-3 on node-1: the room comes within 33s, 3s (the P95 of its save) and 30s of teardown',
      'RoomAsked: asked to save and to give up j-worker-3 on node-1 by 2026-01-01T00:01:00Z, to make room for web/api',
      'RoomSaved: saved at step 95 in 4s; leaves now',
      'RoomLeft: j-worker-3 left to make room for web/api on node-1; the other replicas train on',
      'RoomBack: back after 0ms: j-worker-3 is created again',
    ]);
    expect(world.run).toMatchObject({ status: { replacing: [], budgets: { interruptions: 1, errors: 0 } } });
  });

  it('leaves whole when it would train with fewer than its minimum', async () => {
    const world = new RoomWorld({ elastic: { workers: 4, least: 2 } });
    await world.begin({ count: 3 });
    await world.round();
    await world.clock.advance(60_000);
    await world.round();
    expect(world.pods).toEqual(FOUR(1).map((name) => `${name}-`));
  });

  it('gives up nothing when another replica was lost meanwhile', async () => {
    const world = await asked(new RoomWorld({ elastic: { workers: 3, least: 2 } }));
    world.exit('j-worker-1', 1);
    await world.round();
    expect([world.stage, world.pods.filter((name) => name.startsWith('j-worker-2'))]).toEqual(['refused', ['j-worker-2#1']]);
    expect(textAt(world.run, 'status', 'madeRoom')).toContain('stays, because it has no replica to spare any more');
  });

  it('keeps a replica that a budget protects late', async () => {
    const world = await asked(new RoomWorld({ elastic: { workers: 4, least: 2 } }));
    world.budget(0);
    await world.clock.advance(4000);
    world.report(95, 95, 500);
    await world.round();
    expect([world.stage, world.pods]).toEqual(['refused', FOUR(1)]);
  });

  it('gets its replica back at once when its minimum is raised', async () => {
    const world = await asked(new RoomWorld({ elastic: { workers: 4, least: 2 } }));
    await world.clock.advance(60_000);
    await world.round();
    world.finishAll();
    await world.round();
    world.edit((spec) => ({ ...spec, elasticPolicy: { minReplicas: 4, maxReplicas: 4 } }));
    await world.round();
    expect([world.stage, world.pods]).toEqual(['back', FOUR(1)]);
  });

  it('restarts without the replica that it gave up when another one is lost with the gang', async () => {
    const world = await asked(new RoomWorld({ elastic: { workers: 4, least: 2 } }));
    await world.clock.advance(60_000);
    await world.round();
    world.finishAll();
    await world.round();
    world.bind();
    world.remove('j-worker-0');
    world.finishAll();
    await world.round();
    world.finishAll();
    await world.round();
    expect([world.stage, world.attempt, world.pods]).toEqual(['away', 2, FOUR(2, 3)]);
  });
});

/** A whole make-room, in which the operator is killed at one of its calls. */
async function life(world: RoomWorld, at: number, isAfter: boolean): Promise<{ readonly calls: number; readonly end: unknown }> {
  const deadly = { calls: 0, at, isAfter };
  world.report(90, 80, 30_000);
  await world.begin();
  world.intercept((api) => mortalApi(api, deadly));
  const pass = async (): Promise<void> => {
    await world.round().catch(() => undefined);
    world.forgetAll();
    await world.round();
  };
  await pass();
  await world.clock.advance(4000);
  world.report(95, 95, 500);
  await pass();
  world.finishAll();
  await pass();
  world.bind();
  await pass();
  world.cluster.delete(PODS, { namespace: 'web', name: 'api' }, { graceSeconds: 0 });
  await pass();
  world.startPods();
  await pass();
  const { status } = world.run as unknown as { readonly status: Readonly<Record<string, unknown>> };
  const { room, phase, attempt, budgets } = status;
  return {
    calls: deadly.calls,
    end: { pods: world.pods, notices: world.notices, marks: world.marks, room, phase, attempt, budgets },
  };
}

describe('an operator that is killed while it makes room', () => {
  it.each<readonly [title: string, make: () => RoomWorld, end: object]>([
    ['a gang', () => new RoomWorld(), { pods: BOTH(2), attempt: 2 }],
    ['an elastic gang that gives up a replica', () => new RoomWorld({ elastic: { workers: 3, least: 2 } }), { attempt: 1 }],
    ['a Job', () => new JobRoomWorld(), { pods: ['j-0-2'], attempt: 2, marks: [] }],
  ])('of %s, at any call, before or after it, ends like one that was not', async (_, make, expected) => {
    const twin = await life(make(), -1, false);
    expect(twin.end).toMatchObject({ ...expected, phase: 'Running', room: { stage: 'back', savedStep: 95 } });
    expect(twin.calls).toBeGreaterThan(12);
    for (let at = 1; at <= twin.calls; at++) {
      for (const isAfter of [false, true]) {
        const { end } = await life(make(), at, isAfter);
        expect(end, `killed ${isAfter ? 'after' : 'before'} call ${at}`).toEqual({
          ...(twin.end as object),
          room: expect.objectContaining({ stage: 'back', savedStep: 95 }) as unknown,
        });
      }
    }
  });
});
