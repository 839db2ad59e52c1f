import { describe, expect, it } from 'vitest';
import { numberAt, textAt } from '../../kube/objects/fields.ts';
import { NODES, PODS, SERVICES } from '../../kube/api/resources.ts';
import { timestamp } from '../../kube/api/timestamp.ts';
import { PYTORCH_JOB } from '../kinds/pytorch.ts';
import { TF_JOB } from '../kinds/tensorflow.ts';
import { TRAINING_RUNS } from '../training-run/training-run.ts';
import { ALL, gang, GangWorld, MASTER, role } from '../../../test/operator/gang-world.ts';
import { valueOf } from '../../../test/kube/memory-world.ts';

const UNMEASURED = { loss: null, trial: null, unsavedAcceleratorSeconds: null, saveSeconds: null };

function elastic(annotations: Readonly<Record<string, string>> = {}): GangWorld {
  const spec = { pytorchReplicaSpecs: { Worker: role('pytorch', 3) }, elasticPolicy: { minReplicas: 2, maxReplicas: 3 } };
  return new GangWorld(PYTORCH_JOB, spec, annotations);
}

describe('a job that nothing interrupts', () => {
  it('gets its pods and Services, runs once all its pods do, and succeeds with its master', async () => {
    const world = gang();
    await world.settle();
    expect(world.pods).toEqual(ALL(1));
    expect(world.cluster.all(SERVICES).map(({ metadata }) => metadata.name)).toEqual(['j-master-0', 'j-worker-0', 'j-worker-1']);
    expect(world.conditions).toBe('Created');
    world.startPods();
    world.setStatus('j-worker-1', { phase: 'Pending' });
    await world.settle();
    expect(world.conditions).toBe('Created');
    world.setStatus('j-worker-1', { phase: 'Running' });
    await world.settle();
    expect(world.conditions).toBe('Created Running');
    world.exit('j-master-0', 0);
    await world.settle();
    expect(world.conditions).toBe('Created !Running Succeeded');
    expect(world.job['status']).toMatchObject({ replicaStatuses: { Master: { succeeded: 1 }, Worker: { succeeded: 2 } } });
    expect(world.pods).toEqual(ALL(1));
    expect(world.run['status']).toMatchObject({ phase: 'Succeeded', attempt: 1, budgets: { interruptions: 0 } });
  });

  it('writes nothing while it runs', async () => {
    const world = gang();
    await world.start();
    const { version } = world.cluster;
    await world.reconcile();
    expect(world.cluster.version).toBe(version);
  });

  it('runs for v1 as soon as its master does, where it asks for that', async () => {
    const world = gang({}, { 'holdfast.dev/running': 'v1' });
    await world.start();
    world.setStatus('j-worker-1', { phase: 'Pending' });
    await world.settle();
    expect(world.conditions).toBe('Created Running');
  });
});

describe('the first lost pod of a gang', () => {
  it('ends the attempt: all pods go at once, and the next ones come when the last is gone', async () => {
    const world = gang();
    await world.start();
    world.remove('j-worker-1');
    await world.settle();
    expect(world.pods).toEqual(ALL(1, '-'));
    expect(world.conditions).toBe('Created Restarting');
    world.finish('j-worker-1');
    world.finish('j-master-0');
    await world.settle();
    expect(world.pods).toEqual(['j-worker-0#1-']);
    world.finish('j-worker-0');
    await world.settle();
    expect(world.pods).toEqual(ALL(2));
    world.startPods();
    await world.settle();
    expect(world.conditions).toBe('Created Running');
    expect(world.run['status']).toMatchObject({
      attempt: 2,
      phase: 'Running',
      budgets: { interruptions: 1, errors: 0 },
      attempts: [
        { number: 1, end: { cause: 'POD_DELETED', pod: 'j-worker-1', node: 'node-1' } },
        { number: 2, end: null },
      ],
    });
    expect(world.events.filter((event) => event.startsWith('PyTorchJobRestarting'))).toHaveLength(1);
  });

  it('keeps the Services, and deletes pods that had ended', async () => {
    const world = gang();
    await world.start();
    const services = world.cluster.all(SERVICES).map(({ metadata }) => metadata.uid);
    world.exit('j-worker-0', 137, { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }] });
    await world.settle();
    world.finishAll();
    await world.settle();
    expect(world.pods).toEqual(ALL(2));
    expect(world.cluster.all(SERVICES).map(({ metadata }) => metadata.uid)).toEqual(services);
  });

  it('is also one that vanished unseen, or whose node does not report', async () => {
    const vanished = gang();
    await vanished.start();
    vanished.finish('j-master-0');
    await vanished.settle();
    expect(vanished.attempt).toBe(2);

    const lost = gang();
    await lost.start();
    const status = { conditions: [{ type: 'Ready', status: 'Unknown' }] };
    valueOf(lost.cluster.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' }, status }));
    await lost.settle();
    expect(lost.run['status']).toMatchObject({ attempt: 2, attempts: [{ end: { cause: 'NODE_LOST' } }, {}] });
  });

  it('is none whose name a pod of another owner holds: it comes when that one is gone', async () => {
    const world = gang();
    const metadata = { name: 'j-worker-0', namespace: 'n' };
    valueOf(world.cluster.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec: {} }));
    expect(await world.reconcile()).toEqual({ kind: 'again', afterMs: 10_000 });
    world.finish('j-worker-0');
    await world.settle();
    expect([world.attempt, world.pods]).toEqual([1, ALL(1)]);
  });

  it('is none that only failed to be created yet', async () => {
    const world = gang();
    await world.reconcile();
    world.finish('j-worker-1');
    await world.settle();
    expect(world.pods).toEqual(ALL(1));
  });
});

describe('exit code 0', () => {
  const drained = { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }] };

  it('of a master that was being evicted does not finish the run', async () => {
    const world = gang();
    await world.start();
    world.exit('j-master-0', 0, drained);
    await world.settle();
    expect(world.conditions).toBe('Created Restarting');
    expect(world.run['status']).toMatchObject({ attempts: [{ end: { cause: 'API_EVICTION', exitCode: 0 } }, {}] });
  });

  it('finishes it where the user trusts exit code 0', async () => {
    const world = gang({}, { 'holdfast.dev/trust-exit-0': 'true' });
    await world.start();
    world.exit('j-master-0', 0, drained);
    await world.settle();
    expect(world.conditions).toBe('Created !Running Succeeded');
  });
});

describe('an error', () => {
  it('fails the job once its backoffLimit is spent, and leaves its last words', async () => {
    const world = gang({ backoffLimit: 1 });
    world.logs.set('j-worker-0', 'starting\nValueError: no data\n');
    for (const attempt of [1, 2]) {
      await world.start();
      expect(world.attempt).toBe(attempt);
      world.exit('j-worker-0', 1);
      await world.settle();
      world.finishAll();
      await world.clock.advance(10_000);
    }
    await world.settle();
    expect(world.conditions).toBe('Created !Running Failed');
    expect(world.run['status']).toMatchObject({
      phase: 'Failed',
      failure: { pod: 'j-worker-0', exitCode: 1, log: ['starting', 'ValueError: no data'] },
    });
    expect(textAt(world.job, 'status', 'completionTime')).not.toBeNull();
  });

  it('waits before the next attempt, and says when to look again', async () => {
    const world = gang();
    await world.start();
    world.exit('j-worker-0', 1);
    await world.settle();
    world.finishAll();
    expect(await world.reconcile()).toEqual({ kind: 'again', afterMs: 10_000 });
    expect(world.pods).toEqual([]);
    await world.clock.advance(10_000);
    await world.settle();
    expect(world.pods).toEqual(ALL(2));
  });

  it('of a replica with the policy Never fails the job', async () => {
    const world = gang(
      { cleanPodPolicy: 'Running' },
      {},
      { Master: role('pytorch', 1), Worker: role('pytorch', 2, { restartPolicy: 'Never' }) },
    );
    await world.start();
    world.exit('j-worker-0', 1);
    await world.settle();
    expect(world.conditions).toBe('Created !Running Failed');
    expect(world.pods).toEqual(['j-master-0#1-', 'j-worker-0#1', 'j-worker-1#1-']);
  });

  it('of a peer counts for nothing beside an interruption', async () => {
    const world = gang({ backoffLimit: 0 });
    await world.start();
    world.exit('j-worker-0', 1);
    world.remove('j-worker-1');
    await world.settle();
    expect(world.run['status']).toMatchObject({ attempt: 2, budgets: { errors: 0, interruptions: 1 } });
  });
});

describe('a suspended job', () => {
  it('is active until its last pod has ended, and starts another attempt when it is resumed', async () => {
    const world = gang();
    await world.start();
    world.suspend(true);
    await world.settle();
    expect(world.conditions).toBe('Created !Running Suspended');
    expect(world.cluster.all(SERVICES)).toEqual([]);
    expect(world.job['status']).toMatchObject({ replicaStatuses: { Master: { active: 1 }, Worker: { active: 2 } } });
    world.finishAll();
    await world.settle();
    expect(numberAt(world.job, 'status', 'replicaStatuses', 'Worker', 'active')).toBeNull();
    await world.clock.advance(5000);
    world.suspend(false);
    await world.start();
    expect(world.conditions).toBe('Created !Suspended Running');
    expect(world.pods).toEqual(ALL(2));
    expect(textAt(world.job, 'status', 'startTime')).toBe(timestamp(world.clock.now()));
    expect(world.events.filter((event) => event.startsWith('PyTorchJobSuspended'))).toHaveLength(1);
  });

  it('has the pods of its new template when it is resumed', async () => {
    const world = gang();
    await world.start();
    world.suspend(true);
    await world.settle();
    world.finishAll();
    await world.settle();
    const pool = { template: { spec: { containers: [{ name: 'pytorch', image: 'i' }], nodeSelector: { pool: 'b' } } } };
    world.edit((spec) => ({ ...spec, pytorchReplicaSpecs: { ...MASTER, Master: { replicas: 1, ...pool } } }));
    world.suspend(false);
    await world.settle();
    expect(textAt(world.pod('j-master-0'), 'spec', 'nodeSelector', 'pool')).toBe('b');
  });

  it('from the start on creates nothing and has not started', async () => {
    const world = gang({ suspend: true });
    await world.settle();
    expect(world.conditions).toBe('Created Suspended');
    expect(world.pods).toEqual([]);
    expect(textAt(world.job, 'status', 'startTime')).toBeNull();
    world.suspend(false);
    await world.settle();
    expect(world.pods).toEqual(ALL(1));
  });
});

describe('the limits of a job', () => {
  it('end it at its deadline, to the second', async () => {
    const world = gang({ activeDeadlineSeconds: 60 });
    await world.settle();
    expect(await world.reconcile()).toEqual({ kind: 'again', afterMs: 60_000 });
    await world.clock.advance(59_999);
    await world.settle();
    expect(world.conditions).toBe('Created');
    await world.clock.advance(1);
    await world.settle();
    expect(world.conditions).toBe('Created Failed');
  });

  it('delete it when its time to live is over, and keep its TrainingRun for a week', async () => {
    const world = gang({ ttlSecondsAfterFinished: 30 });
    await world.start();
    world.exit('j-master-0', 0);
    await world.settle();
    expect(await world.reconcile()).toEqual({ kind: 'again', afterMs: 30_000 });
    await world.clock.advance(30_000);
    await world.reconcile();
    expect(world.cluster.all(PYTORCH_JOB.resource)).toEqual([]);
    expect(await world.keep()).toMatchObject({ kind: 'again' });
    await world.clock.advance(7 * 86_400_000);
    await world.keep();
    expect(world.cluster.all(TRAINING_RUNS)).toEqual([]);
  });

  it('mark the TrainingRun of a job that was deleted while it ran', async () => {
    const world = gang();
    await world.start();
    valueOf(world.cluster.delete(PYTORCH_JOB.resource, { namespace: 'n', name: 'j' }, {}));
    await world.keep();
    expect(world.run['status']).toMatchObject({ phase: 'Deleted' });
  });
});

describe('replicas that are replaced alone', () => {
  it('are those of an elastic job: a lost worker comes back in the same attempt', async () => {
    const world = elastic();
    await world.start();
    world.exit('j-worker-2', 143, { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }] });
    await world.settle();
    expect(world.pods).toEqual(['j-worker-0#1', 'j-worker-1#1', 'j-worker-2#1']);
    expect(textAt(world.pod('j-worker-2'), 'status', 'phase')).toBe('Pending');
    world.startPods();
    await world.settle();
    expect(world.run['status']).toMatchObject({ attempt: 1, replacing: [], budgets: { interruptions: 1 } });
    expect(world.conditions).toBe('Created Running');
  });

  it('restart as a gang when the rendezvous host is lost', async () => {
    const world = elastic();
    await world.start();
    world.remove('j-worker-0');
    await world.settle();
    expect(world.attempt).toBe(2);
  });

  it('restart as a gang when no step follows for 120 seconds', async () => {
    const world = elastic();
    await world.start();
    world.progress = { step: 5, lastGoodStep: null, lastGoodAgeMs: null, accelerators: 3, ...UNMEASURED, readMs: world.clock.now() };
    await world.settle();
    await world.clock.advance(1000);
    world.remove('j-worker-2');
    await world.settle();
    await world.clock.advance(119_000);
    await world.settle();
    expect(world.attempt).toBe(1);
    await world.clock.advance(1000);
    await world.settle();
    expect(world.attempt).toBe(2);
  });

  it('are a gang where the user wants one', async () => {
    const world = elastic({ 'holdfast.dev/restart': 'gang' });
    await world.start();
    world.remove('j-worker-2');
    await world.settle();
    expect(world.attempt).toBe(2);
  });

  it('are the evaluators of a TFJob, and its chief is not', async () => {
    const world = new GangWorld(TF_JOB, { tfReplicaSpecs: { Chief: role('tensorflow', 1), Evaluator: role('tensorflow', 1) } });
    await world.start();
    world.remove('j-evaluator-0');
    await world.settle();
    expect([world.attempt, world.pods]).toEqual([1, ['j-chief-0#1', 'j-evaluator-0#1-']]);
    world.remove('j-chief-0');
    await world.settle();
    expect(world.attempt).toBe(2);
  });

  const scale = (world: GangWorld, replicas: number): void =>
    world.edit((spec) => ({ ...spec, pytorchReplicaSpecs: { Worker: role('pytorch', replicas) } }));

  it('train on without a dynamic worker that failed for good, which is not replaced', async () => {
    const roles = { PS: role('tensorflow', 1), Worker: role('tensorflow', 2, { restartPolicy: 'Never' }) };
    const world = new GangWorld(TF_JOB, { tfReplicaSpecs: roles, enableDynamicWorker: true });
    await world.start();
    world.exit('j-worker-1', 1);
    await world.settle();
    expect([world.conditions, world.pods]).toEqual(['Created Running', ['j-ps-0#1', 'j-worker-0#1', 'j-worker-1#1']]);
    expect(textAt(world.run, 'status', 'phase')).toBe('Running');
    world.exit('j-worker-0', 0);
    await world.settle();
    expect(world.conditions).toBe('Created !Running Succeeded');
  });

  it.each(['', 'AllWorkers'])('fail the job with a dynamic worker that decides its success (%s)', async (successPolicy) => {
    const roles = { PS: role('tensorflow', 1), Worker: role('tensorflow', 2, { restartPolicy: 'Never' }) };
    const world = new GangWorld(TF_JOB, { tfReplicaSpecs: roles, enableDynamicWorker: true, successPolicy });
    await world.start();
    world.exit(successPolicy === '' ? 'j-worker-0' : 'j-worker-1', 1);
    await world.settle();
    expect(world.conditions).toBe('Created !Running Failed');
  });

  it('follow the number of workers, up and down, by index', async () => {
    const world = elastic();
    await world.start();
    scale(world, 2);
    await world.settle();
    expect(world.pods).toEqual(['j-worker-0#1', 'j-worker-1#1', 'j-worker-2#1-']);
    world.finishAll();
    scale(world, 4);
    await world.settle();
    expect(world.pods).toEqual(['j-worker-0#1', 'j-worker-1#1', 'j-worker-2#1', 'j-worker-3#1']);
    expect(world.attempt).toBe(1);
  });

  it.each(['replica', 'gang'])('are charged for no deletion of the operator: down, and up while the pod ends (%s)', async (restart) => {
    const world = elastic({ 'holdfast.dev/restart': restart });
    await world.start();
    scale(world, 2);
    await world.settle();
    scale(world, 3);
    await world.settle();
    expect(world.pods).toEqual(['j-worker-0#1', 'j-worker-1#1', 'j-worker-2#1-']);
    world.finishAll();
    await world.settle();
    expect(world.pods).toEqual(['j-worker-0#1', 'j-worker-1#1', 'j-worker-2#1']);
    expect(world.run['status']).toMatchObject({ attempt: 1, budgets: { interruptions: 0 }, replacing: [], scaledDown: [] });
    world.startPods();
    await world.settle();
    world.remove('j-worker-2');
    await world.settle();
    expect(world.run['status']).toMatchObject({ budgets: { interruptions: 1 } });
  });
});

describe('a job that is not ours to run', () => {
  it('is left alone when MultiKueue manages it', async () => {
    const world = gang({ managedBy: 'kueue.x-k8s.io/multikueue' });
    await world.settle();
    expect([world.pods, world.job['status'], world.cluster.all(TRAINING_RUNS)]).toEqual([[], undefined, []]);
  });

  it('starts nothing when it is invalid, says once which rule it breaks, and starts when it is corrected', async () => {
    const world = gang({}, {}, { Master: role('pytorch', 2) });
    await world.settle();
    await world.settle();
    expect(world.pods).toEqual([]);
    const rule = 'spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1';
    expect(world.events).toEqual([`PyTorchJobFailedValidation: ${rule}`]);
    expect(world.run['status']).toMatchObject({ phase: 'Invalid', message: rule });
    world.edit((spec) => ({ ...spec, pytorchReplicaSpecs: MASTER }));
    await world.settle();
    expect(world.pods).toEqual(ALL(1));
  });
});

describe('progress', () => {
  it('of rank 0 stands in the TrainingRun, is written at most every 30 seconds, and refills the budget', async () => {
    const world = gang({ backoffLimit: 0 });
    await world.start();
    const report = (step: number): void => {
      world.progress = { step, lastGoodStep: step, lastGoodAgeMs: 1000, accelerators: 8, ...UNMEASURED, readMs: world.clock.now() };
    };
    report(10);
    await world.settle();
    expect(world.run['status']).toMatchObject({ progress: { step: 10, lastGoodStep: 10, accelerators: 8 } });
    report(11);
    await world.clock.advance(29_000);
    const { version } = world.cluster;
    await world.reconcile();
    expect(world.cluster.version).toBe(version);
    await world.clock.advance(1000);
    await world.reconcile();
    expect(world.run['status']).toMatchObject({ progress: { step: 11 }, budgets: { furthestStep: 11 } });
  });

  it('since the last good step is what an interruption costs', async () => {
    const world = gang();
    await world.start();
    world.progress = { step: 30, lastGoodStep: 20, lastGoodAgeMs: 60_000, accelerators: 8, ...UNMEASURED, readMs: world.clock.now() };
    await world.clock.advance(100_000);
    await world.settle();
    world.progress = null;
    world.remove('j-worker-0');
    await world.settle();
    expect(world.run['status']).toMatchObject({
      attempts: [{ end: { lostSteps: 10, accelerators: 8 } }, {}],
      totals: { lostSteps: 10, trainedSeconds: 100 },
      lostWork: expect.stringMatching(/m/),
    });
  });
});
