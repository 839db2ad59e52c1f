import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { causeGrace, GRACE_CAUSES, type GraceCause } from './cause-grace.ts';
import { CLOUDS, type CloudName } from './clouds.ts';
import { firstProcessOf } from './first-process.ts';
import { DEFAULT_KUBELET, type KubeletGrace, type PodGrace } from './pod-grace.ts';

const POD: PodGrace = {
  graceSeconds: 60,
  deleteSeconds: null,
  preStop: null,
  launcher: null,
  clamp: null,
  hearing: { hears: 'maybe', reason: '' },
  isSupervised: false,
  kubelet: DEFAULT_KUBELET,
  cloud: null,
  priority: 0,
  tolerationSeconds: 300,
};
const GROUPS: KubeletGrace = {
  ...DEFAULT_KUBELET,
  shutdownSeconds: 0,
  shutdownGroups: [
    { priority: 2_000_000_000, seconds: 90 },
    { priority: 0, seconds: 20 },
    { priority: 1000, seconds: 45 },
  ],
};
const secondsOf = (cause: GraceCause, more: Partial<PodGrace> = {}): number => causeGrace(cause, { ...POD, ...more }).graceMs / 1000;

describe('the time that a cause leaves a pod', () => {
  it.each<[string, GraceCause, Partial<PodGrace>, number]>([
    ['a drain leaves what the manifest says', 'drain', {}, 60],
    ['a manifest that says nothing has 30 s', 'drain', { graceSeconds: null }, 30],
    ['preStop eats of it', 'drain', { preStop: { seconds: 20 } }, 40],
    ['a preStop that is too long leaves two seconds', 'preemption', { preStop: { seconds: 90 } }, 2],
    ['a manifest that asks for none has two seconds, as after a deletion by force', 'drain', { graceSeconds: 0 }, 2],
    ['a negative grace has two seconds', 'drain', { graceSeconds: -5 }, 2],
    ['a deletion that asks for none has two seconds', 'delete', { deleteSeconds: 0 }, 2],
    ['a policy that leaves nothing leaves two seconds', 'drain', { clamp: { seconds: 0, by: 'a policy' } }, 2],
    ['torchrun ends its workers after 30 s', 'taint', { launcher: { seconds: 30, reason: 'torchrun' } }, 30],
    [
      'torchrun counts its 30 s from SIGTERM, after the preStop',
      'drain',
      { preStop: { seconds: 7 }, launcher: { seconds: 30, reason: 'torchrun' } },
      30,
    ],
    [
      'a preStop that leaves less than torchrun decides',
      'drain',
      { preStop: { seconds: 40 }, launcher: { seconds: 30, reason: 'torchrun' } },
      20,
    ],
    [
      'a preStop eats of a soft eviction',
      'soft-pressure',
      { preStop: { seconds: 20 }, kubelet: { ...DEFAULT_KUBELET, evictionMaxPodSeconds: 50 } },
      30,
    ],
    [
      'torchrun ends its workers in a soft eviction',
      'soft-pressure',
      { launcher: { seconds: 30, reason: 'torchrun' }, kubelet: { ...DEFAULT_KUBELET, evictionMaxPodSeconds: 50 } },
      30,
    ],
    ['a policy clamps it', 'suspend', { clamp: { seconds: 50, by: 'a policy' } }, 50],
    ['a deletion that asks for less gets less', 'delete', { deleteSeconds: 3 }, 3],
    ['a deletion by force leaves two seconds', 'force-delete', {}, 2],
    ['hard pressure leaves two seconds', 'hard-pressure', {}, 2],
    ['so does soft pressure by default', 'soft-pressure', {}, 2],
    ['soft pressure leaves what was set', 'soft-pressure', { kubelet: { ...DEFAULT_KUBELET, evictionMaxPodSeconds: 20 } }, 20],
    ['a shutdown leaves nothing unless it was set', 'shutdown', {}, 0],
    [
      'a shutdown leaves the share of ordinary pods',
      'shutdown',
      { kubelet: { ...DEFAULT_KUBELET, shutdownSeconds: 30, shutdownCriticalSeconds: 10 } },
      20,
    ],
    [
      'a shutdown leaves a critical pod its own share',
      'shutdown',
      { priority: 2_000_000_000, kubelet: { ...DEFAULT_KUBELET, shutdownSeconds: 30, shutdownCriticalSeconds: 10 } },
      10,
    ],
    [
      'a shutdown by priority leaves the period of the highest group that is not above the pod',
      'shutdown',
      { priority: 5000, kubelet: GROUPS },
      45,
    ],
    ['a shutdown by priority leaves a pod below all groups the period of the lowest', 'shutdown', { priority: -5, kubelet: GROUPS }, 20],
    ['a shutdown by priority never leaves more than the manifest says', 'shutdown', { priority: 2_000_000_000, kubelet: GROUPS }, 60],
    ['GKE Spot leaves 15 s', 'reclaim', { cloud: 'gke-spot' }, 15],
    ['GKE Spot leaves a pod that asks for less only that', 'reclaim', { cloud: 'gke-spot', graceSeconds: 5 }, 5],
    ['EC2 Spot with a handler leaves the grace of the pod', 'reclaim', { cloud: 'ec2-spot' }, 60],
    ['EC2 Spot cannot honour a long grace', 'reclaim', { cloud: 'ec2-spot', graceSeconds: 600 }, 110],
    ['EC2 Spot without a handler tells nobody', 'reclaim', { cloud: 'ec2-spot-unhandled' }, 0],
    ['but the supervisor, which asks', 'reclaim', { cloud: 'ec2-spot-unhandled', isSupervised: true }, 110],
    ['an eviction leaves no more than a launcher', 'soft-pressure', { launcher: { seconds: 1, reason: 'a launcher' } }, 1],
    ['OOM leaves nothing', 'oom', {}, 0],
    ['neither does a lost node', 'node-lost', {}, 0],
  ])('%s', (_, cause, more, seconds) => {
    expect(secondsOf(cause, more)).toBe(seconds);
  });

  it('never grows when one of the facts is shorter', () => {
    const length = fc.option(fc.integer({ min: 0, max: 200 }), { nil: null });
    const facts = fc.record({ graceSeconds: length, launcher: length, clamp: length, shutdown: length, evictionMax: length });
    const cloud = fc.constantFrom<(CloudName | null)[]>(null, ...(Object.keys(CLOUDS) as CloudName[]));
    const causes = fc.constantFrom(...(Object.keys(GRACE_CAUSES) as GraceCause[]));
    const podOf = (
      of: { readonly [key in 'graceSeconds' | 'launcher' | 'clamp' | 'shutdown' | 'evictionMax']: number | null },
      on: CloudName | null,
    ): PodGrace => ({
      ...POD,
      cloud: on,
      graceSeconds: of.graceSeconds ?? 30,
      launcher: of.launcher === null ? null : { seconds: of.launcher, reason: 'a launcher' },
      clamp: of.clamp === null ? null : { seconds: of.clamp, by: 'a policy' },
      kubelet: {
        shutdownSeconds: of.shutdown ?? 30,
        shutdownCriticalSeconds: null,
        evictionMaxPodSeconds: of.evictionMax ?? 0,
        shutdownGroups: [],
      },
    });
    const less = (value: number | null, by: number): number | null => (value === null ? null : Math.max(0, value - by));
    fc.assert(
      fc.property(causes, cloud, facts, fc.integer({ min: 0, max: 50 }), (cause, on, of, by) => {
        const shorter = {
          graceSeconds: less(of.graceSeconds, by),
          launcher: less(of.launcher, by),
          clamp: less(of.clamp, by),
          shutdown: less(of.shutdown, by),
          evictionMax: less(of.evictionMax, by),
        };
        const [before, after] = [causeGrace(cause, podOf(of, on)), causeGrace(cause, podOf(shorter, on))];
        expect(after.graceMs).toBeLessThanOrEqual(before.graceMs);
        const shown = before.links.map(({ deadlineMs }) => deadlineMs);
        expect(shown).toEqual(shown.toSorted((a, b) => b - a));
      }),
    );
  });
});

describe('whether a command lets the program receive SIGTERM', () => {
  it.each<[string, readonly string[], string]>([
    ['python is the first process', ['python', 'train.py'], 'maybe'],
    ['a shell with one command becomes it', ['sh', '-c', 'python train.py --lr 1'], 'maybe'],
    ['a pipe', ['sh', '-c', 'python train.py | tee log'], 'no'],
    ['two commands', ['/bin/bash', '-lc', 'pip install x && python train.py'], 'no'],
    ['two commands, and the last replaces the shell', ['bash', '-c', 'pip install x && exec python train.py'], 'maybe'],
    ['a pipe inside of quotes', ['sh', '-c', 'python train.py "a | b"'], 'maybe'],
    ['a trap', ['sh', '-c', 'trap "kill $p" TERM; python train.py & p=$!; wait'], 'maybe'],
    ['the supervisor', ['holdfast', 'run', '--', 'python', 'train.py'], 'yes'],
    ['the supervisor behind tini', ['tini', '--', 'holdfast', 'run', '--', 'python', 'train.py'], 'yes'],
    ['nothing: the image decides', [], 'maybe'],
  ])('%s', (_, command, hears) => {
    expect(firstProcessOf(command, new Map()).hearing.hears).toBe(hears);
  });

  it.each([
    ['python train.py | tee log', 'exec before the trainer, and no pipe behind it'],
    ['exec python train.py | tee log', 'exec before the trainer, and no pipe behind it'],
    ['python train.py & wait', 'exec before the trainer, and no & behind it'],
    ['cd /app && python train.py', 'exec before the last command of the shell'],
    ['python train.py > log 2>&1', undefined],
  ])('%s: the answer names a shell command that passes the signal on', (script, remedy) => {
    expect(firstProcessOf(['sh', '-c', script], new Map()).hearing.remedy).toBe(remedy);
  });

  it('reads the timeout of torchrun from its environment', () => {
    const command = ['torchrun', '--nnodes=2', 'train.py'];
    expect(firstProcessOf(command, new Map()).launcher?.seconds).toBe(30);
    expect(firstProcessOf(command, new Map([['TORCH_ELASTIC_SHUTDOWN_TIMEOUT', '90']])).launcher?.seconds).toBe(90);
    expect(firstProcessOf(['python', '-m', 'torch.distributed.run', 'x.py'], new Map()).launcher?.seconds).toBe(30);
    expect(firstProcessOf(['python', 'train.py'], new Map()).launcher).toBeNull();
  });
});
