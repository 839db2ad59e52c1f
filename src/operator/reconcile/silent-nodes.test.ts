import { describe, expect, it } from 'vitest';
import { GangWorld, role } from '../../../test/operator/gang-world.ts';
import { valueOf } from '../../../test/kube/memory-world.ts';
import type { KubeApi } from '../../kube/api/kube-api.ts';
import { LEASES } from '../../kube/api/resources.ts';
import { timestamp } from '../../kube/api/timestamp.ts';
import { refusal } from '../../kube/memory/refusals.ts';
import { plainKind } from '../../kube/memory/stored-kind.ts';
import { PYTORCH_JOB } from '../kinds/pytorch.ts';
import { TF_JOB } from '../kinds/tensorflow.ts';

type Fields = Readonly<Record<string, unknown>>;

const MASTER = { Master: role('pytorch', 1), Worker: role('pytorch', 1) };
const FAILED = { attempts: [{ end: { cause: 'TRAINER_FAILED', pod: 'j-worker-0' } }], phase: 'Failed' };

const NODE_1 = { namespace: 'kube-node-lease', name: 'node-1' };

/** The API server refuses to show Leases. */
function refuseLeases(world: GangWorld, kind: 'forbidden' | 'unavailable'): void {
  const get: KubeApi['get'] = (resource, key, options) =>
    resource === LEASES ? Promise.resolve(refusal(kind, 'no')) : api.get(resource, key, options);
  const { api } = world;
  const own = (name: string | symbol): unknown => (Reflect.get(api, name) as (...words: unknown[]) => unknown).bind(api);
  world.intercept(() => new Proxy(api, { get: (_, name) => (name === 'get' ? get : own(name)) }));
}

/** The kubelet of a node renews its Lease. */
function renew(world: GangWorld, name: string, ms: number): void {
  const spec = { renewTime: new Date(ms).toISOString().replace('Z', '000Z') };
  const metadata = { name, namespace: 'kube-node-lease' };
  const known = world.cluster.get(LEASES, metadata);
  if (known.ok) valueOf(world.cluster.replace(LEASES, { ...known.value, spec }, 'rest'));
  else valueOf(world.cluster.create(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }));
}

/** A gang without an error left, whose worker 0 is on a node of its own. */
async function started(
  spec: Fields = { pytorchReplicaSpecs: MASTER, runPolicy: { backoffLimit: 0 } },
  kind = PYTORCH_JOB,
): Promise<GangWorld> {
  const world = new GangWorld(kind, spec);
  world.cluster.install(plainKind(LEASES));
  await world.clock.advance(500);
  renew(world, 'node-1', world.clock.now());
  await world.settle();
  world.startPods((name) => (name === 'j-worker-0' || name === 'j-evaluator-0' ? 'node-2' : 'node-1'));
  await world.settle();
  return world;
}

/** The same, and worker 0 has failed in the second in which the other node was last heard of. */
async function failed(spec?: Fields): Promise<GangWorld> {
  const world = await started(spec);
  await world.clock.advance(100);
  world.exit('j-worker-0', 1);
  await world.settle();
  return world;
}

function loseNode(world: GangWorld): void {
  const lastTransitionTime = timestamp(world.clock.now());
  world.reportNode({ type: 'Ready', status: 'Unknown', lastTransitionTime });
}

describe('a failure after which no attempt would follow', () => {
  it('is not final while the node of a peer is silent, and costs nothing where that node is lost', async () => {
    const world = await failed();
    expect(world.run['status']).toMatchObject({
      phase: 'Waiting',
      message:
        'j-worker-0 failed: the trainer failed by itself. No attempt follows unless one of its peers’ nodes is lost: ' +
        'the job fails as soon as all of them have reported, within a minute',
      attempts: [{ end: null }],
    });
    expect(await world.reconcile()).toEqual({ kind: 'again', afterMs: 5000 });
    await world.clock.advance(45_000);
    loseNode(world);
    await world.settle();
    expect(world.run['status']).toMatchObject({
      attempts: [{ end: { cause: 'NODE_LOST', pod: 'j-master-0' } }, {}],
      budgets: { errors: 0, interruptions: 1 },
    });
    expect(world.conditions).toBe('Created Restarting');
  });

  it('is final once that node has reported again', async () => {
    const world = await failed();
    await world.clock.advance(10_000);
    renew(world, 'node-1', world.clock.now());
    await world.settle();
    expect([world.run['status'], world.conditions]).toMatchObject([FAILED, 'Created !Running Failed']);
  });

  it('is final after a minute', async () => {
    const world = await failed();
    await world.clock.advance(58_000);
    expect(await world.reconcile()).toEqual({ kind: 'again', afterMs: 1400 });
    await world.clock.advance(1400);
    await world.settle();
    expect([world.run['status'], world.conditions]).toMatchObject([FAILED, 'Created !Running Failed']);
  });

  it('is not final of a replica with the policy Never', async () => {
    const never = { Master: role('pytorch', 1), Worker: role('pytorch', 1, { restartPolicy: 'Never' }) };
    const world = await failed({ pytorchReplicaSpecs: never });
    expect(world.run['status']).toMatchObject({ phase: 'Waiting', attempts: [{ end: null }], replacing: [] });
  });

  it('is final at once where replicas are replaced alone', async () => {
    const Worker = role('pytorch', 3, { restartPolicy: 'Never' });
    const world = await failed({ pytorchReplicaSpecs: { Worker }, elasticPolicy: { minReplicas: 1, maxReplicas: 3 } });
    expect(world.conditions).toBe('Created !Running Failed');
  });

  it.each<[string, (world: GangWorld) => void]>([
    ['where no Lease says when the node was heard of', (world) => void world.cluster.delete(LEASES, NODE_1, {})],
    ['where the operator may not read the Leases', (world) => refuseLeases(world, 'forbidden')],
    ['where all its peers have ended', (world) => world.exit('j-master-0', 1)],
  ])('is final at once %s', async (_, spoil) => {
    const world = await started();
    await world.clock.advance(100);
    spoil(world);
    world.exit('j-worker-0', 1);
    await world.settle();
    expect(world.conditions).toBe('Created !Running Failed');
  });

  it('is decided later where the API server does not answer', async () => {
    const world = await started();
    world.exit('j-worker-0', 1);
    refuseLeases(world, 'unavailable');
    expect([await world.reconcile(), world.conditions]).toMatchObject([{ kind: 'retry' }, 'Created Running']);
  });
});

describe('the failure of an evaluator', () => {
  it('comes from no peer, and is final at once', async () => {
    const roles = { Chief: role('tensorflow', 1), Evaluator: role('tensorflow', 1, { restartPolicy: 'Never' }) };
    const world = await started({ tfReplicaSpecs: roles }, TF_JOB);
    world.exit('j-evaluator-0', 1);
    await world.settle();
    expect(world.conditions).toBe('Created !Running Failed');
  });
});
