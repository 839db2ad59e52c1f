import { describe, expect, it } from 'vitest';
import { ALL, gang } from '../../../test/operator/gang-world.ts';
import { mortalApi } from '../../../test/operator/mortal-api.ts';
import { valueOf } from '../../../test/kube/memory-world.ts';
import { PODS } from '../../kube/api/resources.ts';
import { timestamp } from '../../kube/api/timestamp.ts';
import { fieldsOf, listAt, numberAt, textAt } from '../../kube/objects/fields.ts';
import { ATTEMPT_LABEL, jobLabels } from '../kinds/names.ts';
import { PYTORCH_JOB } from '../kinds/pytorch.ts';
import { Store } from '../../kube/watch/store.ts';
import { TRAINING_RUNS } from '../training-run/training-run.ts';
import { reconcileJob } from './reconcile.ts';
import { byOwner, OWNER_INDEX } from './world.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * A whole life: start, interruption, error, success. The operator is killed at one of its writes.
 */
async function life(at: number, isAfter: boolean): Promise<{ readonly calls: number; readonly end: unknown }> {
  const world = gang({ backoffLimit: 3 });
  const deadly = { calls: 0, at, isAfter };
  world.intercept((api) => mortalApi(api, deadly));
  const pass = async (): Promise<void> => {
    await world.settle().catch(() => undefined);
    await world.settle();
  };
  const begin = async (): Promise<void> => {
    await pass();
    world.startPods();
    await pass();
  };
  await begin();
  world.remove('j-worker-1');
  await pass();
  world.finishAll();
  await begin();
  world.logs.set('j-worker-0', 'ValueError');
  world.exit('j-worker-0', 1);
  await pass();
  world.finishAll();
  await world.clock.advance(10_000);
  await begin();
  world.exit('j-master-0', 0);
  await pass();
  const { status } = world.run as { readonly status?: { readonly attempts?: readonly unknown[] } & Fields };
  const ends = listAt(status, 'attempts').map((each) => [
    numberAt(each, 'number'),
    textAt(each, 'end', 'cause'),
    textAt(each, 'end', 'pod'),
  ]);
  const end = { pods: world.pods, conditions: world.conditions, phase: textAt(status, 'phase'), budgets: status?.['budgets'], ends };
  return { calls: deadly.calls, end };
}

describe('an operator that is killed', () => {
  it('before or after any of its writes ends the job like one that was not', async () => {
    const twin = await life(-1, false);
    expect(twin.end).toMatchObject({ pods: ALL(3), phase: 'Succeeded', budgets: { interruptions: 1, errors: 1 } });
    expect(twin.calls).toBeGreaterThan(20);
    for (let at = 1; at <= twin.calls; at++) {
      for (const isAfter of [false, true]) {
        expect((await life(at, isAfter)).end, `killed ${isAfter ? 'after' : 'before'} write ${at}`).toEqual(twin.end);
      }
    }
  });
});

/** A worker fails, and a while later the node of the others turns out to be lost. */
async function lossLife(at: number, isAfter: boolean): Promise<{ readonly calls: number; readonly status: unknown }> {
  const world = gang({ backoffLimit: 3 }, { 'holdfast.dev/force-lost-nodes': 'true' });
  await world.start();
  const deadly = { calls: 0, at, isAfter };
  world.intercept((api) => mortalApi(api, deadly));
  const pass = async (): Promise<void> => {
    const isKilled = await world.settle().then(
      () => false,
      () => true,
    );
    if (isKilled) world.forgetAll();
    await world.settle();
  };
  world.exit('j-worker-0', 1);
  await pass();
  await world.clock.advance(5000);
  world.reportNode({ type: 'Ready', status: 'Unknown', lastTransitionTime: timestamp(world.clock.now()) });
  await pass();
  // An operator that was killed counts the time to the force anew.
  for (let times = 0; times < 2; times++) {
    await world.clock.advance(20_000);
    await pass();
  }
  const { status } = world.run as { readonly status?: Fields };
  const ends = listAt(status, 'attempts').map((each) => fieldsOf(each)['end']);
  return { calls: deadly.calls, status: [world.pods, ends, status?.['budgets'], status?.['notBefore'], status?.['refund']] };
}

describe('an operator that is killed while a node turns out to be lost', () => {
  it('before or after any of its calls gives the error back once', async () => {
    const twin = await lossLife(-1, false);
    expect(twin.status).toMatchObject([ALL(2), [{ cause: 'NODE_LOST' }, null], { errors: 0, interruptions: 1 }, null, null]);
    expect(twin.calls).toBeGreaterThan(8);
    for (let at = 1; at <= twin.calls; at++) {
      for (const isAfter of [false, true]) {
        expect((await lossLife(at, isAfter)).status, `killed ${isAfter ? 'after' : 'before'} call ${at}`).toEqual(twin.status);
      }
    }
  });
});

describe('an operator whose watch is behind', () => {
  it('creates no pod when another one has moved the run on', async () => {
    const world = gang();
    await world.start();
    world.remove('j-worker-0');
    await world.settle();
    world.finishAll();
    world.lag(true);
    const { run } = world;
    valueOf(world.cluster.replace(TRAINING_RUNS, { ...run, status: { ...(run['status'] as Fields), message: 'changed' } }, 'status'));
    await world.reconcile();
    expect(world.pods).toEqual([]);
    world.lag(false);
    await world.settle();
    expect(world.pods).toEqual(ALL(2));
  });

  it('writes no condition of the job from a record that another pass has moved on', async () => {
    const world = gang({ backoffLimit: 0 });
    await world.start();
    world.exit('j-master-0', 1);
    world.lag(true);
    const { run, conditions } = world;
    valueOf(world.cluster.replace(TRAINING_RUNS, { ...run, status: { ...(run['status'] as Fields), message: 'changed' } }, 'status'));
    await world.reconcile();
    expect(world.conditions).toBe(conditions);
    world.lag(false);
    await world.settle();
    expect(world.conditions).toContain(' Failed');
  });

  it('deletes no pod that has got the name of the one it means', async () => {
    const world = gang();
    await world.start();
    world.remove('j-worker-0');
    world.lag(true);
    world.finish('j-worker-1');
    valueOf(world.cluster.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'j-worker-1', namespace: 'n' } }));
    await world.reconcile();
    expect(world.pods).toContain('j-worker-1#');
  });

  it('looks again when a deletion is refused with a conflict, because no watch would call it', async () => {
    const world = gang();
    await world.start();
    world.remove('j-worker-0');
    world.intercept(
      (api) =>
        new Proxy(api, {
          get: (target, name) => {
            const refused = { ok: false, kind: 'conflict', message: 'has been modified', status: 409, retryAfterMs: null } as const;
            return name === 'delete' ? () => Promise.resolve(refused) : (Reflect.get(target, name) as () => void).bind(target);
          },
        }),
    );
    expect(await world.reconcile()).toEqual({ kind: 'behind' });
  });

  it('charges no pod whose successor has come already', async () => {
    const world = gang({}, { 'holdfast.dev/restart': 'replica' });
    await world.start();
    world.remove('j-worker-0');
    world.lag(true);
    world.finish('j-worker-0');
    const { metadata } = world.pod('j-worker-1');
    const successor = { name: 'j-worker-0', namespace: 'n', labels: { ...metadata.labels, 'training.kubeflow.org/replica-index': '0' } };
    valueOf(world.cluster.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: successor }));
    expect(await world.reconcile()).toEqual({ kind: 'behind' });
    expect(numberAt(world.run, 'status', 'budgets', 'interruptions')).toBe(0);
  });

  it('creates no pod of a run that has ended while the watch of its job is behind', async () => {
    const world = gang({ backoffLimit: 0 });
    await world.start();
    const { job } = world;
    world.exit('j-master-0', 1);
    await world.settle();
    world.finishAll();
    const [ended, left] = [world.run, world.pods];
    expect(textAt(ended, 'status', 'phase')).toBe('Failed');
    valueOf(world.cluster.replace(PYTORCH_JOB.resource, { ...world.job, status: job['status'] }, 'status'));
    expect(await world.reconcile()).toEqual({ kind: 'behind' });
    expect([world.run, world.pods]).toEqual([ended, left]);
  });

  it('creates no pod of an attempt while a pod of the one before it lives', async () => {
    const world = gang();
    await world.start();
    world.remove('j-worker-0');
    await world.settle();
    world.finishAll();
    world.lag(true);
    const labels = { ...jobLabels({ name: 'j', kind: PYTORCH_JOB }), [ATTEMPT_LABEL]: '1' };
    valueOf(world.cluster.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', namespace: 'n', labels } }));
    await world.reconcile();
    expect(world.pods).toEqual(['x#1']);
  });

  it('takes no pod for lost that the API server still knows', async () => {
    const world = gang();
    await world.settle();
    world.startPods();
    // What a new leader may see: the record of its predecessor, and the pods of an earlier time.
    await world.settle();
    const empty = new Store({ [OWNER_INDEX]: byOwner });
    const behind = { ...world.world(), stores: { ...world.world().stores, pods: empty } };
    const key = { namespace: 'n', name: 'j' };
    expect(await reconcileJob(behind, PYTORCH_JOB, key, { signal: world.signal })).toEqual({ kind: 'behind' });
    expect([world.attempt, world.pods]).toEqual([1, ALL(1)]);
  });

  it('starts no second attempt for a loss that was handled before', async () => {
    const world = gang();
    await world.start();
    world.remove('j-worker-0');
    world.lag(true);
    for (let pass = 0; pass < 5; pass++) await world.reconcile();
    world.lag(false);
    await world.settle();
    expect(world.attempt).toBe(2);
  });
});
