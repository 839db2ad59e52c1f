import { describe, expect, it } from 'vitest';
import { NODES } from '../../kube/api/resources.ts';
import { listAt, mapAt, textAt } from '../../kube/objects/fields.ts';
import { ALL, gang, type GangWorld, role } from '../../../test/operator/gang-world.ts';
import { valueOf } from '../../../test/kube/memory-world.ts';

const UNSCHEDULABLE = { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] };
const MINUTE = 60_000;

/** Everything starts but this worker. */
async function startAllBut(world: GangWorld, name: string, status: Readonly<Record<string, unknown>>): Promise<void> {
  await world.settle();
  world.startPods();
  world.setStatus(name, status);
  await world.settle();
}

describe('a gang with one pod that does not start', () => {
  it.each([
    ['cannot be scheduled', UNSCHEDULABLE, 'POD_UNSCHEDULABLE'],
    [
      'cannot pull its image',
      { phase: 'Pending', containerStatuses: [{ name: 'pytorch', state: { waiting: { reason: 'ImagePullBackOff' } } }] },
      'IMAGE_NOT_PULLED',
    ],
    ['cannot mount its volume', { phase: 'Pending' }, 'CONTAINER_NOT_STARTED'],
  ])('because it %s frees its machines at the deadline, and tries again after a back-off', async (_, status, cause) => {
    const world = gang({}, { 'holdfast.dev/start-deadline': '20m' });
    await startAllBut(world, 'j-worker-1', status);
    await world.clock.advance(5 * MINUTE);
    await world.settle();
    expect(await world.reconcile()).toEqual({ kind: 'again', afterMs: 15 * MINUTE });
    await world.clock.advance(15 * MINUTE - 1);
    await world.settle();
    expect(world.pods).toEqual(ALL(1));
    await world.clock.advance(1);
    await world.settle();
    expect(world.run['status']).toMatchObject({ attempt: 2, phase: 'BackingOff', attempts: [{ end: { cause, pod: 'j-worker-1' } }, {}] });
    world.finishAll();
    await world.clock.advance(10_000);
    await world.start();
    expect([world.pods, world.conditions]).toEqual([ALL(2), 'Created Running']);
    await world.clock.advance(20 * MINUTE);
    await world.settle();
    expect(world.attempt).toBe(2);
  });

  it('frees its machines also when no attempt is left; after an error of a trainer v1’s policy decides', async () => {
    const world = gang({ backoffLimit: 0 }, { 'holdfast.dev/start-deadline': '20m' });
    await startAllBut(world, 'j-worker-1', UNSCHEDULABLE);
    await world.clock.advance(20 * MINUTE);
    await world.settle();
    expect(world.conditions).toBe('Created Failed');
    expect(world.pods).toEqual(ALL(1, '-'));

    const failed = gang({ backoffLimit: 0 }, { 'holdfast.dev/start-deadline': '20m' });
    await startAllBut(failed, 'j-worker-1', UNSCHEDULABLE);
    failed.exit('j-worker-0', 1);
    await failed.settle();
    // Its trainer failed before the deadline: the policy of v1 keeps all pods.
    expect([failed.conditions, failed.pods]).toEqual(['Created Failed', ALL(1)]);
  });

  it('stays failed when another one failed the job in the pass of its deadline', async () => {
    const world = gang(
      {},
      { 'holdfast.dev/start-deadline': '20m', 'holdfast.dev/restart': 'replica' },
      { Master: role('pytorch', 1), Worker: role('pytorch', 2, { restartPolicy: 'Never' }) },
    );
    await startAllBut(world, 'j-worker-1', UNSCHEDULABLE);
    await world.clock.advance(20 * MINUTE);
    world.exit('j-worker-0', 1);
    await world.settle();
    expect(world.conditions).toContain('Failed');
    expect(world.run['status']).toMatchObject({ phase: 'Failed', attempt: 1, attempts: [{ end: { pod: 'j-worker-0' } }] });
  });

  it('waits for ever without a deadline, and with one that means nothing, which one event names', async () => {
    const world = gang({}, { 'holdfast.dev/start-deadline': 'soon' });
    await startAllBut(world, 'j-worker-1', UNSCHEDULABLE);
    await world.clock.advance(MINUTE);
    await world.settle();
    expect(await world.reconcile()).toEqual({ kind: 'settled' });
    expect(world.events.filter((event) => event.startsWith('InvalidAnnotation'))).toHaveLength(1);
  });
});

describe('a job that prefers Spot', () => {
  const SPOT = { 'holdfast.dev/placement': 'spot' };
  const selector = (world: GangWorld): unknown => mapAt(world.pod('j-master-0'), 'spec', 'nodeSelector').get('cloud.google.com/gke-spot');
  const onGoogle = (world: GangWorld): void => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' }, spec: { providerID: 'gce://p/z/n' } };
    valueOf(world.cluster.create(NODES, node));
  };

  it('runs on demand for one attempt when Spot has no room for 15 minutes, and then tries Spot again', async () => {
    const world = gang({}, SPOT);
    onGoogle(world);
    await startAllBut(world, 'j-worker-1', UNSCHEDULABLE);
    expect(selector(world)).toBe('true');
    await world.clock.advance(MINUTE);
    await world.settle();
    expect(await world.reconcile()).toEqual({ kind: 'again', afterMs: 14 * MINUTE });
    await world.clock.advance(14 * MINUTE);
    await world.settle();
    world.finishAll();
    await world.start();
    expect(selector(world)).toBeUndefined();
    expect(world.run['status']).toMatchObject({
      budgets: { errors: 0 },
      attempts: [
        { placement: 'spot', end: { cause: 'POD_UNSCHEDULABLE' } },
        { placement: 'on-demand', placementReason: 'there was no room on Spot machines' },
      ],
    });
    expect(world.events).toContain('PlacedOnDemand: attempt 2 runs on demand, because there was no room on Spot machines');
    world.remove('j-worker-0');
    await world.settle();
    world.finishAll();
    await world.settle();
    expect(selector(world)).toBe('true');
  });

  it('keeps its machines while it trains, however long that takes', async () => {
    const world = gang({}, SPOT);
    onGoogle(world);
    await world.start();
    await world.clock.advance(60 * MINUTE);
    await world.settle();
    expect([world.attempt, world.conditions]).toEqual([1, 'Created Running']);
  });

  it('runs anywhere where the cloud is unknown, and an event says so', async () => {
    const world = gang({}, SPOT);
    await world.start();
    expect(world.conditions).toBe('Created Running');
    expect(world.events.filter((event) => event.startsWith('UnknownCloud'))).not.toEqual([]);
    expect(listAt(world.run, 'status', 'attempts').map((each) => textAt(each, 'placement'))).toEqual([null]);
  });
});
