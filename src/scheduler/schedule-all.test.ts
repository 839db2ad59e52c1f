import { describe, expect, it } from 'vitest';
import { objectOf } from '../kube/objects/object.ts';
import { Cluster } from './cluster/cluster.ts';
import { rankForEviction } from './evict/rank.ts';
import { clusterInputOf, podDefaultsOf } from './objects/cluster-input.ts';
import { schedulerPodOf } from './objects/pod.ts';
import { minorOf } from './objects/release.ts';
import { placePod } from './place/place.ts';
import { failedSchedulingMessage } from './preempt/scheduling-message.ts';
import { preempt } from './preempt/preempt.ts';
import { scheduleAll } from './schedule-all.ts';
import { node, pod } from '../../test/support/scheduler-objects.ts';

function clusterOf(objects: readonly unknown[], minor = 35): Cluster {
  return new Cluster(
    clusterInputOf(
      objects.flatMap((each) => objectOf(each) ?? []),
      { minor, hasGroups: false },
    ),
  );
}

function waiting(cluster: Cluster) {
  const [found] = cluster.waiting;
  if (found === undefined) throw new Error('no pod waits');
  return found;
}

describe('placePod', () => {
  it('takes the node with more room', () => {
    const cluster = clusterOf([node('small', { cpu: '2' }), node('large', { cpu: '8' }), pod('new', { cpu: '1' })]);
    expect(placePod(cluster, waiting(cluster))).toMatchObject({ node: 'large', tied: ['large'], feasible: 2, message: null });
  });

  it('names all nodes that are equally good', () => {
    const cluster = clusterOf([node('a', { cpu: '2' }), node('b', { cpu: '2' }), pod('new', { cpu: '1' })]);
    expect(placePod(cluster, waiting(cluster)).tied).toEqual(['a', 'b']);
  });

  it('says in the scheduler’s words why no node takes the pod', () => {
    const cluster = clusterOf([node('a', { cpu: '2' }), node('b', { cpu: '8' }, { unschedulable: true }), pod('new', { cpu: '4' })]);
    expect(placePod(cluster, waiting(cluster)).message).toBe('0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.');
  });

  it('prefers the node that the pod was promised', () => {
    const promised = pod('new', { cpu: '1' }, { status: { nominatedNodeName: 'small' } });
    const cluster = clusterOf([node('small', { cpu: '2' }), node('large', { cpu: '8' }), promised]);
    expect(placePod(cluster, waiting(cluster)).node).toBe('small');
  });

  it('counts a pod that has ended as gone, and one on a missing node as a stray', () => {
    const ended = pod('ended', { cpu: '2' }, { nodeName: 'a', status: { phase: 'Failed' } });
    const cluster = clusterOf([node('a', { cpu: '2' }), ended, pod('lost', { cpu: '1' }, { nodeName: 'gone' }), pod('new', { cpu: '2' })]);
    expect(placePod(cluster, waiting(cluster)).node).toBe('a');
    expect(cluster.strays.map(({ key }) => key)).toEqual(['default/lost']);
  });

  it('lists a quantity that cannot be read, and counts it as zero', () => {
    const cluster = clusterOf([node('a', { cpu: '2' }), pod('new', { cpu: 'lots' })]);
    expect(waiting(cluster).problems).toEqual(['spec.containers[0].resources.requests.cpu is "lots": not a quantity, counted as 0']);
    expect(placePod(cluster, waiting(cluster)).node).toBe('a');
  });
});

describe('preempt', () => {
  const full = [
    node('a', { cpu: '2' }),
    pod('low', { cpu: '1' }, { nodeName: 'a', priority: 1, status: { startTime: '2026-01-01T00:00:00Z' } }),
    pod('younger', { cpu: '1' }, { nodeName: 'a', priority: 1, status: { startTime: '2026-01-01T01:00:00Z' } }),
  ];

  it('evicts the youngest of the least important pods', () => {
    const cluster = clusterOf([...full, pod('new', { cpu: '1' }, { priority: 5 })]);
    const found = preempt(cluster, placePod(cluster, waiting(cluster)));
    expect(found.best.map(({ node: name, victims }) => [name, victims.map(({ name: victim }) => victim)])).toEqual([['a', ['younger']]]);
  });

  it('leaves the cluster as it was', () => {
    const cluster = clusterOf([...full, pod('new', { cpu: '1' }, { priority: 5 })]);
    const before = cluster.nodes.map(({ used, assumedCpu, pods }) => [...used, assumedCpu, pods.length]);
    preempt(cluster, placePod(cluster, waiting(cluster)));
    expect(cluster.nodes.map(({ used, assumedCpu, pods }) => [...used, assumedCpu, pods.length])).toEqual(before);
  });

  it('evicts no pod for a pod that never preempts', () => {
    const cluster = clusterOf([...full, pod('new', { cpu: '1' }, { priority: 5, preemptionPolicy: 'Never' })]);
    const placement = placePod(cluster, waiting(cluster));
    const found = preempt(cluster, placement);
    expect(found.best).toEqual([]);
    expect(failedSchedulingMessage(placement, found)).toBe(
      '0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.',
    );
  });
});

describe('scheduleAll', () => {
  it('evicts for each replica in turn, and keeps the room of those that wait', () => {
    const cluster = clusterOf([
      node('a', { cpu: '2' }),
      pod('one', { cpu: '1' }, { nodeName: 'a', priority: 1 }),
      pod('two', { cpu: '1' }, { nodeName: 'a', priority: 2 }),
      ...['x', 'y', 'z'].map((name) => pod(name, { cpu: '1' }, { priority: 5 })),
    ]);
    const { steps } = scheduleAll(cluster, cluster.waiting, { evicts: true });
    expect(steps.map(({ chosen }) => chosen?.victims.map(({ name }) => name))).toEqual([['one'], ['two', 'one'], undefined]);
    expect([...cluster.placed()].map(({ isTerminating }) => isTerminating)).toEqual([false, false]);
  });

  it.each([
    [33, ''],
    [34, 'no new claims to deallocate, '],
    [36, 'no new claims to deallocate, '],
    [37, ''],
  ])('has the words of the scheduler of 1.%i when no eviction helps', (minor, words) => {
    const cluster = clusterOf([node('a', { cpu: '1' }), pod('x', { cpu: '2' })], minor);
    expect(scheduleAll(cluster, cluster.waiting, { evicts: true }).steps.map(({ message }) => message)).toEqual([
      `0/1 nodes are available: 1 Insufficient cpu. ${words}preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.`,
    ]);
  });
});

describe('rankForEviction', () => {
  it('takes the pod that exceeds its request before the less important one that does not', () => {
    const read = (value: unknown) => schedulerPodOf(objectOf(value) ?? fail(), podDefaultsOf([]));
    const usage = { memory: 2 ** 30, processes: 1, root: [0, 0], logs: [0, 0], volume: [0, 0] } as const;
    const ranked = rankForEviction(
      [
        { pod: read(pod('modest', { memory: '2Gi' }, { priority: 0 })), usage, isStatic: false },
        { pod: read(pod('greedy', { memory: '1Mi' }, { priority: 9 })), usage, isStatic: false },
      ],
      { signal: 'memory.available', imageFs: false, splitFs: false },
    );
    expect(ranked.map(({ pod: { name }, rank }) => [name, rank])).toEqual([
      ['greedy', 0],
      ['modest', 1],
    ]);
  });
});

describe('minorOf', () => {
  it.each([
    ['v1.37.1', 37],
    ['v1.33.2-gke.1171000', 33],
    ['1.35+', 35],
    ['v2.0.0', null],
    ['', null],
  ])('reads %s as %s', (text, minor) => expect(minorOf(text)).toBe(minor));
});

function fail(): never {
  throw new Error('not an object');
}
