import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gang, type GangWorld } from '../../../test/operator/gang-world.ts';
import { lastWords } from '../../../test/operator/last-words.ts';
import { startOperator } from '../../../test/operator/running-operator.ts';
import { valueOf } from '../../../test/kube/memory-world.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import { EVENTS, JOBS, NODES, PODS } from '../../kube/api/resources.ts';
import { plainKind } from '../../kube/memory/stored-kind.ts';
import { at, listAt, numberAt, textAt } from '../../kube/objects/fields.ts';
import { timestamp } from '../../kube/api/timestamp.ts';
import { PYTORCH_JOB } from '../kinds/pytorch.ts';
import { TRAINING_RUNS } from '../training-run/training-run.ts';
import { RUN_LABEL } from './observed-job.ts';

type Fields = Readonly<Record<string, unknown>>;
const SUPERVISED = ['holdfast', 'run', '--status=0.0.0.0:9400', '--', 'python3', 'train.py'];
const NODE = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } };

describe('a Job of Kubernetes with the label of a run', () => {
  let world: GangWorld;
  let stop: () => Promise<void>;
  /** What the supervisor of every pod reports. */
  let report: { readonly step: number; readonly lastGood: number } | null = null;

  beforeEach(async () => {
    report = null;
    world = gang();
    valueOf(world.cluster.delete(PYTORCH_JOB.resource, { namespace: 'n', name: 'j' }, {}));
    world.cluster.install(plainKind(JOBS, true));
    valueOf(world.cluster.create(NODES, NODE));
    const body = (): string | null =>
      report === null
        ? null
        : JSON.stringify({
            schema: 'holdfast.status/1',
            progress: { step: report.step },
            lastGood: { step: report.lastGood, ageSeconds: 0 },
            loss: 0.25,
            trial: { name: '1-rate=0.5' },
          });
    ({ stop } = startOperator(world, {}, { answers: { log: () => 'Traceback\nValueError: 7\n', get: body } }));
    await world.clock.advance(1000);
  });

  afterEach(() => stop());

  async function job(spec: Fields = {}, annotations: Readonly<Record<string, string>> = {}, name = 'train'): Promise<ApiObject> {
    const template = { spec: { containers: [{ name: 'main', image: 'i', command: SUPERVISED }] } };
    const metadata = { name, namespace: 'n', labels: { [RUN_LABEL]: name }, annotations };
    const made = world.cluster.create(JOBS, { apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { ...spec, template } });
    await world.clock.advance(100);
    return valueOf(made);
  }

  /** What the Job controller and a kubelet do. */
  async function pod({ metadata: { uid, name: owner } }: ApiObject, name: string, index?: number): Promise<void> {
    const labels: Record<string, string> = index === undefined ? {} : { 'batch.kubernetes.io/job-completion-index': String(index) };
    const ownerReferences = [{ apiVersion: 'batch/v1', kind: 'Job', name: owner, uid, controller: true }];
    const spec = { restartPolicy: 'Never', nodeName: 'n1', containers: [{ name: 'main', image: 'i', command: SUPERVISED }] };
    const made = world.cluster.create(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'n', labels, ownerReferences },
      spec,
    });
    valueOf(world.cluster.replace(PODS, { ...valueOf(made), status: { phase: 'Running' } }, 'status'));
    await world.clock.advance(100);
  }

  async function exit(name: string, exitCode: number, more: Fields = {}): Promise<void> {
    const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', finishedAt: timestamp(world.clock.now()) };
    const containerStatuses = [{ name: 'main', state: { terminated } }];
    world.setStatus(name, { phase: exitCode === 0 ? 'Succeeded' : 'Failed', containerStatuses, ...more });
    await world.clock.advance(1000);
  }

  async function setJob(status: Fields, name = 'train'): Promise<void> {
    const stored = valueOf(world.cluster.get(JOBS, { namespace: 'n', name }));
    valueOf(world.cluster.replace(JOBS, { ...stored, status }, 'status'));
    await world.clock.advance(1000);
  }

  const done = (type: 'Complete' | 'Failed'): Fields => ({ conditions: [{ type, status: 'True', message: 'by the Job' }] });
  const runs = (): readonly string[] =>
    world.cluster.all(TRAINING_RUNS).map((run) => {
      const causes = listAt(run, 'status', 'attempts').map((each) => textAt(each, 'end', 'cause') ?? 'open');
      return `${run.metadata.name.replace(/-[^-]{5}$/, '')} ${textAt(run, 'status', 'phase')} ${causes.join(' ')}`;
    });
  const reasons = (): readonly (string | null)[] => world.cluster.all(EVENTS).map((event) => textAt(event, 'reason'));
  const disrupted = {
    conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', lastTransitionTime: timestamp(0) }],
  };

  it('has lost what the last words of a pod say, and not what seemed lost before its last save', async () => {
    const train = await job();
    await pod(train, 'a');
    report = { step: 100, lastGood: 50 };
    await world.clock.advance(60_000);
    const terminated = { exitCode: 143, reason: 'Error', message: lastWords({ atMs: world.clock.now() }) };
    await exit('a', 143, { ...disrupted, containerStatuses: [{ name: 'main', state: { terminated } }] });
    expect(world.run['status']).toMatchObject({
      attempts: [{ end: { cause: 'API_EVICTION', lostSteps: 0, lostSeconds: 0 } }],
      totals: { lostSteps: 0, lostSeconds: 0, goodputPercent: 100 },
      progress: { step: 103, lastGoodStep: 103 },
    });
  });

  it('gets one TrainingRun, in which every pod is an attempt with its cause', async () => {
    const train = await job();
    expect(runs()).toEqual(['train Pending open']);
    await pod(train, 'a');
    expect(runs()).toEqual(['train Running open']);
    await exit('a', 143, disrupted);
    await pod(train, 'b');
    await exit('b', 1);
    expect(runs()).toEqual(['train Restarting API_EVICTION TRAINER_FAILED']);
    await pod(train, 'c');
    await exit('c', 0);
    await setJob(done('Complete'));
    expect(runs()).toEqual(['train Succeeded API_EVICTION TRAINER_FAILED FINISHED']);
    expect(world.run['status']).toMatchObject({
      attempt: 3,
      budgets: { interruptions: 1, errors: 1 },
      failure: { attempt: 2, pod: 'b', exitCode: 1, log: ['Traceback', 'ValueError: 7'] },
    });
  });

  it('is called unfinished if it is Complete although its last pod was interrupted', async () => {
    const train = await job();
    await pod(train, 'a');
    await exit('a', 0, disrupted);
    await setJob(done('Complete'));
    expect(runs()).toEqual(['train Failed API_EVICTION']);
    expect(textAt(world.run, 'status', 'message')).toContain('the Job is Complete, but a did not finish');
  });

  it('has the steps that its supervisor reports, and what an interruption lost of them', async () => {
    const train = await job();
    await pod(train, 'a');
    report = { step: 70, lastGood: 50 };
    await world.clock.advance(11_000);
    expect(at(world.run, 'status', 'progress')).toMatchObject({ step: 70, loss: 0.25, trial: '1-rate=0.5' });
    world.finish('a');
    await world.clock.advance(1000);
    expect(listAt(world.run, 'status', 'attempts')[0]).toMatchObject({ end: { cause: 'POD_DELETED', lostSteps: 20, pod: 'a' } });
  });

  it('loses nothing when its trainer finishes after the last report', async () => {
    const train = await job();
    await pod(train, 'a');
    report = { step: 70, lastGood: 50 };
    await world.clock.advance(11_000);
    await exit('a', 0);
    expect(listAt(world.run, 'status', 'attempts')[0]).toMatchObject({ end: { cause: 'FINISHED', lostSteps: 0, lostSeconds: 0 } });
  });

  it('shows a suspension as the cause when the Job deletes its pod for one', async () => {
    const train = await job();
    await pod(train, 'a');
    const stored = valueOf(world.cluster.get(JOBS, { namespace: 'n', name: 'train' }));
    valueOf(world.cluster.replace(JOBS, { ...stored, spec: { ...(stored['spec'] as Fields), suspend: true } }, 'rest'));
    await world.clock.advance(1000);
    world.finish('a');
    await world.clock.advance(1000);
    expect(runs()).toEqual(['train Suspended JOB_SUSPENDED']);
  });

  it('gets a TrainingRun for each index that has a limit of its own', async () => {
    const train = await job({ completionMode: 'Indexed', completions: 3, parallelism: 2, backoffLimitPerIndex: 1 });
    await pod(train, 'a0', 0);
    await pod(train, 'a2', 2);
    await exit('a2', 0);
    await setJob({ completedIndexes: '2' });
    await setJob({ completedIndexes: '2', failedIndexes: '0' });
    expect(runs()).toEqual(['train-0 Failed POD_DELETED', 'train-2 Succeeded FINISHED']);
  });

  it('that is a gang has one TrainingRun, with the cause of the interrupted pod', async () => {
    const train = await job({ completionMode: 'Indexed', completions: 2, parallelism: 2 });
    await pod(train, 'a0', 0);
    await pod(train, 'a1', 1);
    await exit('a1', 143, disrupted);
    await exit('a0', 1);
    expect(runs()).toEqual(['train Restarting API_EVICTION']);
    expect(listAt(world.run, 'status', 'attempts')[0]).toMatchObject({ end: { pod: 'a1', exitCode: 143 } });
  });

  it('says why it has no run if its pods are not to be told apart', async () => {
    await job({ parallelism: 4, completions: 4 });
    await world.clock.advance(5000);
    expect(runs()).toEqual(['train Invalid open']);
    expect(reasons()).toContain('RunNotObserved');
  });

  it('gets its pod back from a node that does not report, after 20 seconds', async () => {
    const train = await job();
    await pod(train, 'a');
    const node = valueOf(world.cluster.get(NODES, { namespace: null, name: 'n1' }));
    const taints = [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }];
    valueOf(world.cluster.replace(NODES, { ...node, spec: { taints } }, 'rest'));
    await world.clock.advance(19_000);
    expect(world.cluster.all(PODS)).toHaveLength(1);
    await world.clock.advance(3000);
    expect(world.cluster.all(PODS)).toEqual([]);
    expect(runs()).toEqual(['train Restarting NODE_LOST']);
    expect(reasons()).toContain('NodeLost');
  });

  it('may fail as often again after every new good step, if its annotation says so', async () => {
    const limit = (): number | null =>
      numberAt(valueOf(world.cluster.get(JOBS, { namespace: 'n', name: 'train' })), 'spec', 'backoffLimit');
    const train = await job({ backoffLimit: 2 }, { 'holdfast.dev/extend-backoff': 'true' });
    await pod(train, 'a');
    report = { step: 70, lastGood: 50 };
    await world.clock.advance(11_000);
    expect(limit()).toBe(2);
    await setJob({ failed: 1 });
    expect(limit()).toBe(3);
    await setJob({ failed: 2 });
    expect(limit(), 'there was no progress since').toBe(3);
    report = { step: 170, lastGood: 150 };
    await world.clock.advance(41_000);
    expect(limit()).toBe(4);
    expect(reasons()).toContain('BackoffExtended');
  });

  it('keeps its limit where each index has a limit of its own, which is immutable', async () => {
    const spec = { completionMode: 'Indexed', completions: 2, parallelism: 1, backoffLimit: 2, backoffLimitPerIndex: 1 };
    const train = await job(spec, { 'holdfast.dev/extend-backoff': 'true' });
    await pod(train, 'a0', 0);
    report = { step: 70, lastGood: 50 };
    await world.clock.advance(11_000);
    await setJob({ failed: 2 });
    const stored = valueOf(world.cluster.get(JOBS, { namespace: 'n', name: 'train' }));
    expect(numberAt(stored, 'spec', 'backoffLimit')).toBe(2);
  });

  it('writes nothing while nothing happens', async () => {
    const train = await job();
    await pod(train, 'a');
    await world.clock.advance(30_000);
    const { version } = world.cluster;
    await world.clock.advance(300_000);
    expect(world.cluster.version).toBe(version);
  });

  it('leaves its TrainingRun behind when it is deleted', async () => {
    const train = await job();
    await pod(train, 'a');
    valueOf(world.cluster.delete(JOBS, { namespace: 'n', name: 'train' }, {}));
    await world.clock.advance(1000);
    expect(runs()).toEqual(['train Deleted open']);
  });
});
