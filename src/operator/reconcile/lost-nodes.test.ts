import { describe, expect, it } from 'vitest';
import { CLAIMS, PODS } from '../../kube/api/resources.ts';
import { timestamp } from '../../kube/api/timestamp.ts';
import { plainKind } from '../../kube/memory/stored-kind.ts';
import { listAt, textAt } from '../../kube/objects/fields.ts';
import { PYTORCH_JOB } from '../kinds/pytorch.ts';
import { ALL, gang, GangWorld, role } from '../../../test/operator/gang-world.ts';
import { valueOf } from '../../../test/kube/memory-world.ts';

type Fields = Readonly<Record<string, unknown>>;

/** One master and two workers that run this command. */
function roles(command: readonly string[], more: Fields = {}, metadata: Fields = {}): Fields {
  const template = { metadata, spec: { containers: [{ name: 'pytorch', image: 'i', command }], ...more } };
  return { Master: { replicas: 1, template }, Worker: { replicas: 2, template } };
}

const SUPERVISED = roles(['holdfast', 'run', '--dir=/runs/j', '--', 'python', 'train.py', '--watch']);

const LOST = { type: 'Ready', status: 'Unknown' };
const READY = { type: 'Ready', status: 'True' };

/** The first preferences of a pod for nodes. */
function preferences(world: GangWorld, name: string): readonly unknown[] {
  const path = ['spec', 'affinity', 'nodeAffinity', 'preferredDuringSchedulingIgnoredDuringExecution'];
  return listAt(world.pod(name), ...path).map((each) => (each as { readonly preference: unknown }).preference);
}

describe('a pod on a lost node', () => {
  it('ends the attempt at once, and goes without its kubelet after 20 seconds where its writes are fenced', async () => {
    const world = gang({}, {}, SUPERVISED);
    await world.start();
    world.reportNode(LOST);
    await world.settle();
    expect(world.attempt).toBe(2);
    expect(await world.reconcile()).toEqual({ kind: 'again', afterMs: 20_000 });
    await world.clock.advance(19_999);
    await world.settle();
    expect(world.pods).toEqual(ALL(1, '-'));
    await world.clock.advance(1);
    await world.settle();
    expect(world.pods).toEqual(ALL(2));
    expect(world.events.filter((event) => event.startsWith('NodeLost'))).toEqual([
      'NodeLost: node-1 does not report; deleted without its kubelet: j-master-0, j-worker-0, j-worker-1',
    ]);
  });

  it('is none where the API server knows that the node is back, although the watch does not yet', async () => {
    const world = gang({}, {}, SUPERVISED);
    await world.start();
    world.reportNode(LOST);
    world.lag(true);
    world.reportNode(READY);
    await world.reconcile();
    expect([world.attempt, world.pods]).toEqual([1, ALL(1)]);
    world.lag(false);
    await world.settle();
    expect([world.attempt, world.pods]).toEqual([1, ALL(1)]);
  });

  it('is not blamed where the API server knows that the pod is gone, although the watch does not yet', async () => {
    const world = gang({}, {}, SUPERVISED);
    await world.start();
    world.reportNode(LOST);
    world.lag(true);
    world.remove('j-master-0');
    world.finish('j-master-0');
    expect([await world.reconcile(), world.attempt]).toEqual([{ kind: 'behind' }, 1]);
  });

  it('counts from its own loss, not from an earlier one of its node', async () => {
    const world = gang({}, { 'holdfast.dev/force-lost-nodes': 'true' });
    await world.start();
    world.reportNode(LOST);
    await world.settle();
    await world.clock.advance(60_000);
    await world.settle();
    world.startPods();
    await world.settle();
    expect(world.pods).toEqual(ALL(2, '-'));
    await world.clock.advance(20_000);
    await world.settle();
    expect(world.pods).toEqual(ALL(3));
  });

  it('keeps its grace when its node is back in time', async () => {
    const world = gang({}, {}, SUPERVISED);
    await world.start();
    world.reportNode(LOST);
    await world.settle();
    world.reportNode(READY);
    await world.reconcile();
    await world.clock.advance(60_000);
    await world.settle();
    expect(world.pods).toEqual(ALL(1, '-'));
  });

  it.each<[string, Fields]>([
    ['runs unsupervised', roles(['python', 'train.py'])],
    ['watches the saves of its trainer', roles(['holdfast', 'run', '--watch=out', '--', 'python'])],
  ])('that %s is waited for, and one event says so, until its user allows the force', async (_, replicas) => {
    const world = gang({}, {}, replicas);
    await world.start();
    world.reportNode(LOST);
    await world.settle();
    await world.clock.advance(60_000);
    await world.settle();
    expect(world.pods).toEqual(ALL(1, '-'));
    expect(world.events.filter((event) => event.startsWith('PodHeld'))).toHaveLength(1);
    expect(textAt(world.run, 'status', 'message')).toContain('j-master-0 may still run on node-1');
    world.annotate({ 'holdfast.dev/force-lost-nodes': 'true' });
    await world.settle();
    expect(world.pods).toEqual(ALL(2));
  });

  it('that has finalizers is never stripped of them, and one event names them', async () => {
    const world = gang({}, {}, roles(['holdfast', 'run', '--', 'python'], {}, { finalizers: ['example.com/quota'] }));
    await world.start();
    world.reportNode(LOST);
    await world.settle();
    await world.clock.advance(20_000);
    await world.settle();
    expect(world.pods).toEqual(ALL(1, '-'));
    expect(world.events.filter((event) => event.startsWith('PodHeld'))).toEqual([
      'PodHeld: j-master-0 cannot go while it has the finalizer example.com/quota: the controller behind it must remove it',
    ]);
    for (const pod of world.cluster.all(PODS))
      valueOf(world.cluster.replace(PODS, { ...pod, metadata: { ...pod.metadata, finalizers: [] } }, 'rest'));
    await world.settle();
    expect(world.pods).toEqual(ALL(2));
  });

  it('whose volume can be on one node only gets an event with the way out', async () => {
    const volumes = [{ name: 'runs', persistentVolumeClaim: { claimName: 'runs' } }];
    const world = gang({}, {}, roles(['holdfast', 'run', '--', 'python'], { volumes }));
    world.cluster.install(plainKind(CLAIMS));
    const claim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'runs', namespace: 'n' },
      spec: { accessModes: ['ReadWriteOnce'] },
    };
    valueOf(world.cluster.create(CLAIMS, claim));
    await world.start();
    world.reportNode(LOST);
    await world.settle();
    await world.clock.advance(20_000);
    await world.settle();
    expect(world.events.filter((event) => event.startsWith('VolumeHeld'))).toEqual([
      expect.stringMatching(/runs can be on one node only.*six minutes.*node-1 node.kubernetes.io\/out-of-service/),
    ]);
  });

  it('also goes when the job is suspended', async () => {
    const world = gang({}, {}, SUPERVISED);
    await world.start();
    world.suspend(true);
    await world.settle();
    world.reportNode(LOST);
    expect(await world.reconcile()).toEqual({ kind: 'again', afterMs: 20_000 });
    await world.clock.advance(20_000);
    await world.settle();
    expect(world.pods).toEqual([]);
  });
});

/** The node of all pods is declared lost in so many seconds, and was last heard of at a time. */
async function loseLater(world: GangWorld, seconds: number, heardMs: number): Promise<void> {
  await world.clock.advance(seconds * 1000);
  const [lastTransitionTime, lastHeartbeatTime] = [timestamp(world.clock.now()), timestamp(heardMs)];
  world.reportNode({ ...LOST, lastTransitionTime, lastHeartbeatTime });
}

describe('an attempt that failed before one of its nodes was declared lost', () => {
  /** A gang whose worker has failed because the others were silent; only that worker is gone. */
  const failed = async (exitCode = 1): Promise<GangWorld> => {
    const world = gang({ backoffLimit: 3 }, {}, SUPERVISED);
    await world.start();
    world.exit('j-worker-0', exitCode);
    await world.settle();
    return world;
  };
  const record = (world: GangWorld): unknown => world.run['status'];

  it('gets the loss for its cause, its error back, and no back-off', async () => {
    const world = await failed();
    expect(record(world)).toMatchObject({
      phase: 'BackingOff',
      attempts: [{ end: { cause: 'TRAINER_FAILED', pod: 'j-worker-0' } }, {}],
      budgets: { errors: 1, inARow: 1, interruptions: 0 },
    });
    await loseLater(world, 5, world.clock.now());
    await world.settle();
    expect(record(world)).toMatchObject({
      phase: 'Restarting',
      message: 'attempt 2 follows, because j-master-0 was lost: deleted because its node was lost',
      notBefore: null,
      refund: null,
      attempts: [{ end: { cause: 'NODE_LOST', pod: 'j-master-0', node: 'node-1', zone: 'a', exitCode: null } }, {}],
      budgets: { errors: 0, inARow: 0, same: null, interruptions: 1 },
    });
    expect(world.events.filter((event) => event.startsWith('CauseFound'))).toEqual([
      'CauseFound: attempt 1 ended because j-master-0 was lost: deleted because its node was lost; the failure of j-worker-0 followed from that and costs nothing',
    ]);
    await world.clock.advance(20_000);
    await world.settle();
    expect(world.pods).toEqual(ALL(2));
  });

  it('gets a doubt back too', async () => {
    const world = await failed(143);
    expect(record(world)).toMatchObject({ attempts: [{ end: { cause: 'CANNOT_TELL' } }, {}], budgets: { doubts: 1, interruptions: 1 } });
    await loseLater(world, 40, world.clock.now());
    await world.settle();
    expect(record(world)).toMatchObject({ attempts: [{ end: { cause: 'NODE_LOST' } }, {}], budgets: { doubts: 0, interruptions: 1 } });
  });

  it('remembers the same error from before', async () => {
    const world = gang({}, {}, SUPERVISED);
    world.logs.set('j-worker-0', 'ValueError: x');
    for (let attempt = 1; attempt <= 2; attempt++) {
      await world.start();
      world.exit('j-worker-0', attempt);
      await world.settle();
      if (attempt === 1) world.finishAll();
      if (attempt === 1) await world.clock.advance(10_000);
    }
    await loseLater(world, 5, world.clock.now());
    await world.settle();
    expect(record(world)).toMatchObject({ budgets: { errors: 1, inARow: 1, same: { times: 1, trace: { exitCode: 1 } } } });
  });

  it.each<[string, number, number]>([
    ['declared lost more than a minute later', 61, 0],
    ['heard of after the failure', 50, 30],
  ])('keeps its cause where the node was %s', async (_, seconds, heardAfter) => {
    const world = await failed();
    await loseLater(world, seconds, world.clock.now() + heardAfter * 1000);
    await world.settle();
    expect(record(world)).toMatchObject({ attempts: [{ end: { cause: 'TRAINER_FAILED' } }, {}], budgets: { errors: 1 } });
  });

  it('keeps a limit of its manifest for its cause', async () => {
    const world = gang({}, {}, SUPERVISED);
    await world.start();
    const terminated = { exitCode: 137, reason: 'OOMKilled', finishedAt: timestamp(world.clock.now()) };
    world.setStatus('j-worker-0', { phase: 'Failed', containerStatuses: [{ name: 'pytorch', state: { terminated } }] });
    await world.settle();
    await loseLater(world, 5, world.clock.now());
    await world.settle();
    expect(record(world)).toMatchObject({ attempts: [{ end: { cause: 'OUT_OF_MEMORY' } }, {}], budgets: { errors: 1 } });
  });

  it('forgets what it would get back once the next attempt has pods', async () => {
    const world = await failed();
    expect(record(world)).toMatchObject({ refund: { errors: 0 } });
    world.finishAll();
    await world.settle();
    expect(record(world)).toMatchObject({ refund: { errors: 0 } });
    await world.clock.advance(10_000);
    await world.settle();
    expect(world.pods).toEqual(ALL(2));
    expect(record(world)).toMatchObject({ refund: null, budgets: { errors: 1 } });
  });
});

describe('a node whose loss is known late', () => {
  it('puts the record of a job right that has ended meanwhile, and the job stays ended', async () => {
    const world = gang({ backoffLimit: 3, activeDeadlineSeconds: 5 }, {}, SUPERVISED);
    await world.start();
    world.exit('j-worker-0', 1);
    await world.settle();
    const failedMs = world.clock.now();
    await world.clock.advance(5000);
    await world.settle();
    const { message } = world.run['status'] as Fields;
    await loseLater(world, 40, failedMs);
    await world.settle();
    expect(world.run['status']).toMatchObject({
      phase: 'Failed',
      message,
      attempts: [{ end: { cause: 'NODE_LOST', pod: 'j-master-0' } }, { end: { cause: 'JOB_DEADLINE' } }],
      budgets: { errors: 0, interruptions: 1 },
    });
    expect(world.conditions).toBe('Created Restarting Failed');
  });

  it('is the cause also where the job has given up the pod on it', async () => {
    const spec = { pytorchReplicaSpecs: { Worker: role('pytorch', 3) }, elasticPolicy: { minReplicas: 1, maxReplicas: 3 } };
    const world = new GangWorld(PYTORCH_JOB, spec);
    await world.settle();
    world.startPods((name) => (name === 'j-worker-0' ? 'node-2' : 'node-1'));
    await world.settle();
    world.exit('j-worker-0', 1);
    await loseLater(world, 40, world.clock.now());
    world.edit((before) => ({ ...before, pytorchReplicaSpecs: { Worker: role('pytorch', 1) } }));
    await world.reconcile();
    expect(world.run['status']).toMatchObject({
      attempts: [{ end: { cause: 'NODE_LOST', pod: 'j-worker-1' } }, {}],
      budgets: { errors: 0, interruptions: 1 },
    });
  });
});

describe('the nodes of the next attempt', () => {
  it('are rather not one that lost two attempts, nor the zone that just reclaimed', async () => {
    const world = gang();
    world.reportNode(READY);
    await world.start();
    for (const reason of ['EvictionByEvictionAPI', 'DeletionByPodGC']) {
      world.exit('j-worker-0', 143, { conditions: [{ type: 'DisruptionTarget', status: 'True', reason }] });
      await world.settle();
      world.finishAll();
      await world.start();
    }
    expect(preferences(world, 'j-master-0')).toEqual([
      { matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['node-1'] }] },
      { matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'NotIn', values: ['a'] }] },
    ]);
  });

  it('are not left for a fault that is over, although the watch still shows it', async () => {
    const world = gang();
    await world.start();
    await world.clock.advance(1000);
    world.reportNode(READY, { type: 'GpuBroken', status: 'True', lastTransitionTime: timestamp(world.clock.now()) });
    world.lag(true);
    world.reportNode(READY);
    expect([await world.reconcile(), world.attempt]).toEqual([{ kind: 'behind' }, 1]);
  });

  it('are rather not one that reports a fault, which ends the attempt with its grace; but they may be, once', async () => {
    const world = gang();
    await world.start();
    expect(preferences(world, 'j-master-0')).toEqual([]);
    await world.clock.advance(1000);
    world.reportNode(READY, { type: 'GpuBroken', status: 'True', lastTransitionTime: timestamp(world.clock.now()) });
    await world.settle();
    expect(world.pods).toEqual(ALL(1, '-'));
    expect(world.run['status']).toMatchObject({ attempts: [{ end: { cause: 'NODE_FAULTY' } }, {}], budgets: { errors: 0 } });
    world.finishAll();
    await world.clock.advance(1000);
    await world.start();
    expect(preferences(world, 'j-master-0')).toHaveLength(1);
    expect([world.pods, world.conditions]).toEqual([ALL(2), 'Created Running']);
  });

  it('are not checked for conditions that no option names', async () => {
    const world = gang();
    await world.start();
    await world.clock.advance(1000);
    world.reportNode(READY, { type: 'Other', status: 'True', lastTransitionTime: timestamp(world.clock.now()) });
    await world.settle();
    expect(world.attempt).toBe(1);
  });
});
