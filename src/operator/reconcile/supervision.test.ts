import { describe, expect, it } from 'vitest';
import { listAt, textAt, textsAt } from '../../kube/objects/fields.ts';
import { ALL, gang, type GangWorld } from '../../../test/operator/gang-world.ts';

type Fields = Readonly<Record<string, unknown>>;

const ASKED = { 'holdfast.dev/supervise': 'true' };
const CLAIM = { name: 'data', persistentVolumeClaim: { claimName: 'runs' } };
const TRAINER = { name: 'pytorch', image: 'i', command: ['train'], volumeMounts: [{ name: 'data', mountPath: '/data' }] };
const role = (replicas: number, container: Fields = TRAINER): Fields => ({
  replicas,
  template: { spec: { containers: [container], volumes: [CLAIM] } },
});
const ROLES = { Master: role(1), Worker: role(2) };
const PASSED = checked({ exitCode: 0 });

/** The statuses of the init containers of a pod, with the end of the test run. */
function checked(end: Fields, installed: Fields = { exitCode: 0 }): Fields {
  const status = (name: string, terminated: Fields): Fields => ({ name, state: { terminated } });
  return { initContainerStatuses: [status('holdfast-install', installed), status('holdfast-check', end)] };
}

function supervisedGang(annotations: Readonly<Record<string, string>> = ASKED, roles: Fields = ROLES): GangWorld {
  const world = gang({}, annotations, roles);
  world.image = 'holdfast:1';
  return world;
}

/** Starts everything, with the end of the test run in each pod. */
async function startWith(world: GangWorld, statuses: Fields): Promise<void> {
  await world.settle();
  world.startPods();
  for (const name of ['j-master-0', 'j-worker-0', 'j-worker-1']) {
    world.setStatus(name, { ...(world.pod(name)['status'] as Fields), ...statuses });
  }
  await world.settle();
}

const commandOf = (world: GangWorld, name = 'j-master-0'): readonly string[] =>
  textsAt(listAt(world.pod(name), 'spec', 'containers')[0], 'command');
const checkOf = (world: GangWorld): readonly string[] => textsAt(listAt(world.pod('j-master-0'), 'spec', 'initContainers')[1], 'command');
const supervisionOf = (world: GangWorld): string | null => textAt(world.run, 'status', 'supervision');
const unsupervised = (world: GangWorld): readonly string[] => world.events.filter((event) => event.startsWith('Unsupervised'));

describe('a job with the annotation', () => {
  it('gets supervised pods, each with its rank, and nothing to tell', async () => {
    const world = supervisedGang();
    await startWith(world, PASSED);
    for (const [rank, name] of ['j-master-0', 'j-worker-0', 'j-worker-1'].entries()) {
      expect(commandOf(world, name)).toEqual(
        expect.arrayContaining(['--nodes=3', `--node-rank=${rank}`, '--dir=/data/holdfast/j', '--', 'train']),
      );
    }
    expect(supervisionOf(world)).toBe('SUPERVISED');
    expect(unsupervised(world)).toEqual([]);
  });

  it.each<[string, GangWorld, string]>([
    ['without a command', supervisedGang(ASKED, { ...ROLES, Worker: role(2, { ...TRAINER, command: [] }) }), 'NO_COMMAND'],
    ['without the image of the operator', gang({}, ASKED, ROLES), 'NO_IMAGE'],
  ])('%s gets the pods of v1, and one event tells what is missing', async (_, world, code) => {
    const plain = gang({}, {}, (world.job['spec'] as Fields)['pytorchReplicaSpecs'] as Fields);
    await Promise.all([world.start(), plain.start()]);
    expect(unsupervised(world)).toEqual([expect.stringContaining(`(${code})`)]);
    expect(supervisionOf(world)).toBe(code);
    for (const name of ['j-master-0', 'j-worker-0']) expect(world.pod(name)['spec']).toEqual(plain.pod(name)['spec']);
    world.exit('j-worker-0', 137, { reason: 'Evicted' });
    await world.settle();
    expect(unsupervised(world)).toHaveLength(1);
  });

  it.each([5, 75])('restarts after a back-off when a supervisor exits with %d', async (exitCode) => {
    const world = supervisedGang();
    await startWith(world, PASSED);
    world.exit('j-worker-1', exitCode, PASSED);
    await world.settle();
    expect(world.run['status']).toMatchObject({ attempt: 2, phase: 'BackingOff', budgets: { errors: 0 } });
  });

  it.each([64, 65, 126, 127])('fails when a supervisor exits with %d', async (exitCode) => {
    const world = supervisedGang();
    await startWith(world, PASSED);
    world.exit('j-worker-1', exitCode, PASSED);
    await world.settle();
    expect(world.run['status']).toMatchObject({ attempt: 1, phase: 'Failed' });
  });
});

describe('where the supervisor does not run', () => {
  const MISSING = checked({ exitCode: 0, message: 'NOT_RUNNABLE: it ended with exit code 127' });

  it('the trainer’s exit codes are its own, and the next attempt has the pods of v1', async () => {
    const world = supervisedGang();
    await startWith(world, MISSING);
    expect(unsupervised(world)).toEqual([expect.stringContaining('it ended with exit code 127 (NOT_RUNNABLE)')]);
    world.exit('j-worker-1', 64, MISSING);
    await world.settle();
    expect(world.run['status']).toMatchObject({ attempt: 2, budgets: { errors: 1 } });
    world.finishAll();
    await world.clock.advance(600_000);
    await world.start();
    expect(world.pods).toEqual(ALL(2));
    expect(commandOf(world)).toEqual(['train']);
    expect(unsupervised(world)).toHaveLength(1);
  });

  it('because of noexec, the pod that failed costs nothing', async () => {
    const world = supervisedGang();
    await world.start();
    const failed = checked({ exitCode: 0 }, { exitCode: 1, message: 'NOEXEC: mounted with noexec' });
    world.setStatus('j-worker-0', { phase: 'Failed', ...failed });
    await world.settle();
    expect(supervisionOf(world)).toBe('NOEXEC');
    expect(world.run['status']).toMatchObject({ attempt: 2, budgets: { errors: 0 } });
    world.finishAll();
    await world.start();
    expect([world.pods, commandOf(world)]).toEqual([ALL(2), ['train']]);
  });

  it('a run that was supervised does not fall back: its pods require the supervisor', async () => {
    const world = supervisedGang();
    await startWith(world, PASSED);
    expect(checkOf(world)[1]).toBe('--check');
    world.remove('j-worker-0');
    await world.settle();
    world.finishAll();
    await startWith(world, checked({ exitCode: 1, message: 'NOT_RUNNABLE: it ended with exit code 127' }));
    expect(world.pods).toEqual(ALL(2));
    expect(checkOf(world)[1]).toBe('--require');
    expect(supervisionOf(world)).toBe('SUPERVISED');
    expect(unsupervised(world)).toEqual([]);
  });
});
