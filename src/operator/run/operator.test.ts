import { describe, expect, it } from 'vitest';
import { ALL, gang, role } from '../../../test/operator/gang-world.ts';
import { startOperator } from '../../../test/operator/running-operator.ts';
import { valueOf } from '../../../test/kube/memory-world.ts';
import { EVENTS, NODES, PODS } from '../../kube/api/resources.ts';
import type { PodAnswers } from '../../kube/memory/pod-answers.ts';
import { refusal } from '../../kube/memory/refusals.ts';
import { type Weather } from '../../kube/memory/weather.ts';
import { numberAt, textAt } from '../../kube/objects/fields.ts';
import { PYTORCH_JOB } from '../kinds/pytorch.ts';
import { TRAINING_RUNS } from '../training-run/training-run.ts';
import { parseProgress, statusPortOf } from './progress-reader.ts';

describe('an operator process', () => {
  it('runs a job from its creation to its success, with the counters and the events of v1', async () => {
    const world = gang();
    const { operator, stop } = startOperator(world);
    await world.clock.advance(2000);
    expect(world.pods).toEqual(ALL(1));
    world.startPods();
    await world.clock.advance(1000);
    expect(world.conditions).toBe('Created Running');
    for (const name of ['j-worker-0', 'j-worker-1', 'j-master-0']) world.exit(name, 0);
    await world.clock.advance(1000);
    expect(world.conditions).toBe('Created !Running Succeeded');
    const page = operator.metrics();
    for (const counter of ['created', 'successful']) {
      expect(page).toContain(`training_operator_jobs_${counter}_total{job_namespace="n",framework="pytorch"} 1`);
    }
    expect(page).toContain('\ncreated_pods_total 3\n');
    expect(page).toContain('phase="Succeeded"} 1');
    await stop();
    const reasons = world.cluster.all(EVENTS).map((event) => textAt(event, 'reason'));
    expect(reasons).toContain('SuccessfulCreatePod');
    expect(reasons).toContain('PyTorchJobSucceeded');
  });

  it('begins as soon as everything is read', async () => {
    const world = gang();
    const { stop } = startOperator(world);
    await world.clock.advance(1);
    expect(world.pods).toEqual(ALL(1));
    await stop();
  });

  it('restarts the gang when a pod is deleted, and continues what another process began', async () => {
    const world = gang();
    const first = startOperator(world);
    await world.clock.advance(2000);
    world.startPods();
    await world.clock.advance(1000);
    world.remove('j-worker-0');
    await world.clock.advance(1000);
    await first.stop();
    world.finishAll();
    const second = startOperator(world, { identity: 'two' });
    await world.clock.advance(3000);
    expect(world.pods).toEqual(ALL(2));
    await second.stop();
  });

  it('writes the status of a large gang now and then, while its pods go and come', async () => {
    const pods = 60;
    const world = gang({}, {}, { Master: role('pytorch', 1), Worker: role('pytorch', pods - 1) });
    const { stop } = startOperator(world);
    await world.clock.advance(2000);
    world.startPods();
    await world.clock.advance(2000);
    world.remove('j-worker-0');
    await world.clock.advance(2000);
    const written = (): number => {
      const history = world.cluster.historyOf(PYTORCH_JOB.resource);
      let count = 0;
      for (let at = history?.after(0) ?? null; at !== null && at !== 'gone'; at = history?.after(at.version) ?? null) count += 1;
      return count;
    };
    const before = written();
    const going = world.pods.map((name) => name.split('#', 1)[0] ?? '');
    expect(going).toHaveLength(pods);
    for (const name of going) {
      world.finish(name);
      await world.clock.advance(10);
    }
    await world.clock.advance(1000);
    expect(written() - before).toBeLessThanOrEqual(3);
    expect(world.attempt).toBe(2);
    expect(world.pods).toHaveLength(pods);
    await stop();
  });

  it('sees the loss of a node at once, and keeps a TrainingRun when its job is deleted', async () => {
    const world = gang();
    const { stop } = startOperator(world, { keepRunsMs: 600_000 });
    await world.clock.advance(2000);
    valueOf(world.cluster.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } }));
    world.startPods();
    await world.clock.advance(1000);
    const node = valueOf(world.cluster.get(NODES, { namespace: null, name: 'node-1' }));
    const taints = [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }];
    valueOf(world.cluster.replace(NODES, { ...node, spec: { taints } }, 'rest'));
    await world.clock.advance(1000);
    expect(world.attempt).toBe(2);
    valueOf(world.cluster.delete({ ...TRAINING_RUNS, group: 'kubeflow.org', plural: 'pytorchjobs' }, { namespace: 'n', name: 'j' }, {}));
    await world.clock.advance(1000);
    expect(textAt(world.run, 'status', 'phase')).toBe('Deleted');
    await world.clock.advance(660_000);
    expect(world.cluster.all(TRAINING_RUNS)).toEqual([]);
    await stop();
  });

  it('stands by while another one leads, and takes over when that one ends', async () => {
    const world = gang();
    const first = startOperator(world, { leaseNamespace: 'system' });
    await world.clock.advance(5000);
    const second = startOperator(world, { leaseNamespace: 'system', identity: 'two' });
    await world.clock.advance(20_000);
    expect(first.operator.metrics()).toContain('holdfast_operator_leader 1');
    expect(second.operator.metrics()).toContain('holdfast_operator_leader 0');
    expect(second.operator.isReady).toBe(true);
    await first.stop();
    await world.clock.advance(5000);
    expect(second.lines).toContain('this operator leads now');
    world.startPods();
    await world.clock.advance(1000);
    expect(world.conditions).toBe('Created Running');
    await second.stop();
  });

  it('works without permission for nodes, and waits for kinds that it cannot do without', async () => {
    const world = gang();
    const refused = refusal('forbidden', 'nodes is forbidden');
    const weather: Partial<Weather> = {
      request: ({ resource }) => ({ latencyMs: 0, failure: resource.plural === 'nodes' ? refused : null, isDone: false }),
    };
    const { operator, lines, stop } = startOperator(world, {}, { weather });
    await world.clock.advance(3000);
    expect(world.pods).toEqual(ALL(1));
    expect(lines.filter((line) => line.includes('nodes is forbidden'))).toHaveLength(1);
    expect(operator.isReady).toBe(true);
    await stop();

    const other = gang();
    const missing = refusal('notFound', 'the server has no trainingruns');
    const waiting = startOperator(
      other,
      {},
      { weather: { request: ({ resource }) => ({ latencyMs: 0, failure: resource === TRAINING_RUNS ? missing : null, isDone: false }) } },
    );
    await other.clock.advance(60_000);
    expect(waiting.operator.isReady).toBe(false);
    expect(waiting.operator.waitsFor).toBe('waiting for trainingruns.holdfast.dev (the server has no trainingruns)');
    expect(other.pods).toEqual([]);
    await waiting.stop();
  });

  it('asks less and less often while a watch lags, and continues as soon as it does not', async () => {
    const world = gang();
    const calls: string[] = [];
    let lagMs = 0;
    const weather: Partial<Weather> = {
      request: ({ verb, resource }) => {
        if (verb !== 'watch') calls.push(`${verb} ${resource.plural}`);
        return { latencyMs: 0, failure: null, isDone: false };
      },
      watch: ({ resource }) => ({ lagMs: resource === TRAINING_RUNS ? lagMs : 0, isRepeated: false, end: null }),
    };
    const { stop } = startOperator(world, {}, { weather });
    await world.clock.advance(2000);
    world.startPods();
    await world.clock.advance(1000);
    lagMs = 60_000;
    world.remove('j-worker-0');
    await world.clock.advance(1000);
    world.finishAll();
    const before = calls.length;
    await world.clock.advance(50_000);
    expect(world.pods).toEqual([]);
    expect(calls.length - before).toBeLessThan(30);
    lagMs = 0;
    await world.clock.advance(60_000);
    expect(world.pods).toEqual(ALL(2));
    await stop();
  });

  it('takes no step from a pod of another job of that name', async () => {
    const command = ['holdfast', 'run', '--status=0.0.0.0:9400', '--', 'python', 'train.py'];
    const template = { spec: { containers: [{ name: 'pytorch', image: 'i', command }] } };
    const world = gang({}, {}, { Master: { replicas: 1, template } });
    const metadata = { name: 'j-master-0', namespace: 'n' };
    valueOf(world.cluster.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec: template.spec }));
    world.startPods();
    const answers: PodAnswers = { log: () => null, get: () => JSON.stringify({ schema: 'holdfast.status/1', progress: { step: 10 } }) };
    const { stop } = startOperator(world, {}, { answers });
    await world.clock.advance(60_000);
    expect(numberAt(world.run, 'status', 'progress', 'step')).toBeNull();
    await stop();
  });

  it('records what rank 0 reports, at most every thirty seconds', async () => {
    const command = ['holdfast', 'run', '--status=0.0.0.0:9400', '--', 'python', 'train.py'];
    const template = { spec: { containers: [{ name: 'pytorch', image: 'i', command }] } };
    const world = gang({}, {}, { Master: { replicas: 1, template } });
    let step = 10;
    const answers: PodAnswers = {
      log: () => null,
      get: (_, { port, path }) =>
        port !== 9400 || path !== '/status'
          ? null
          : JSON.stringify({
              schema: 'holdfast.status/1',
              progress: { step },
              lastGood: { step: 8, ageSeconds: 60 },
              unsaved: { accelerators: 4 },
            }),
    };
    const { stop } = startOperator(world, {}, { answers });
    await world.clock.advance(2000);
    world.startPods();
    await world.clock.advance(12_000);
    const recorded = (): number | null => numberAt(world.run, 'status', 'progress', 'step');
    expect(recorded()).toBe(10);
    expect(numberAt(world.run, 'status', 'progress', 'lastGoodStep')).toBe(8);
    const seen = new Set<number | null>();
    for (let round = 0; round < 12; round++) {
      step += 1;
      await world.clock.advance(10_000);
      seen.add(recorded());
    }
    expect(seen.size).toBeLessThanOrEqual(5);
    expect(recorded()).toBeGreaterThan(18);
    await stop();
  });
});

describe('the status of rank 0', () => {
  it.each([
    [['holdfast', 'run', '--status=0.0.0.0:9400', '--', 'x'], 9400],
    [['/opt/holdfast-run', '--status', '[::]:9401', '--', 'x'], 9401],
    [['sh', '-c', 'exec holdfast run --status=10.0.0.1:9402 -- x'], 9402],
    [['holdfast', 'run', '--status=9400', '--', 'x'], null],
    [['holdfast', 'run', '--status=127.0.0.1:9400', '--', 'x'], null],
    [['python', 'train.py', '--', '--status=0.0.0.0:9400'], null],
    [['holdfast', 'run', '--status=0.0.0.0:94000', '--', 'x'], null],
  ])('is found by the command %j on port %s', (command, port) => {
    const metadata = { name: 'p', uid: 'u', resourceVersion: '1', creationTimestamp: '' };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'pytorch', command }] } };
    expect(statusPortOf(pod, 'pytorch')).toBe(port);
  });

  it('is read field by field, and what is no status is nothing', () => {
    const hostile = { schema: 'holdfast.status/1', progress: { step: -1 }, lastGood: { step: 1.5, ageSeconds: 1e300 } };
    const unsaved = { loss: null, trial: null, unsavedAcceleratorSeconds: null, saveSeconds: null };
    const none = { step: null, lastGoodStep: null, lastGoodAgeMs: null, accelerators: null, ...unsaved, readMs: 5 };
    expect(parseProgress(JSON.stringify(hostile), 5)).toEqual(none);
    const slow = { schema: 'holdfast.status/1', flush: { p95Seconds: 4 }, saves: { last: { seconds: 3 } } };
    expect(parseProgress(JSON.stringify(slow), 5)?.saveSeconds).toBe(4);
    const deaf = { ...slow, saves: { ...slow.saves, onRequest: false } };
    expect(parseProgress(JSON.stringify(deaf), 5)?.saveSeconds).toBeNull();
    for (const body of ['', '{', '[]', '{"schema":"other"}']) expect(parseProgress(body, 5)).toBeNull();
  });
});
