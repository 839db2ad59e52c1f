import { describe, expect, it } from 'vitest';
import { node, pod } from '../../test/support/scheduler-objects.ts';
import { objectOf } from '../kube/objects/object.ts';
import { Cluster } from './cluster/cluster.ts';
import { clusterInputOf } from './objects/cluster-input.ts';
import { placePod } from './place/place.ts';
import { preempt } from './preempt/preempt.ts';
import { type Step, scheduleAll } from './schedule-all.ts';

function clusterOf(objects: readonly unknown[], hasGroups = true): Cluster {
  return new Cluster(
    clusterInputOf(
      objects.flatMap((each) => objectOf(each) ?? []),
      { minor: 37, hasGroups },
    ),
  );
}

function group(name: string, { minCount, priority = 0, all = false }: { minCount?: number; priority?: number; all?: boolean }): unknown {
  return {
    apiVersion: 'scheduling.k8s.io/v1beta1',
    kind: 'PodGroup',
    metadata: { name, namespace: 'default' },
    spec: {
      priority,
      schedulingPolicy: minCount === undefined ? { basic: {} } : { gang: { minCount } },
      disruptionMode: all ? { all: {} } : { single: {} },
    },
  };
}

const member = (name: string, groupName: string, more: object = {}): unknown =>
  pod(name, { cpu: '1' }, { schedulingGroup: { podGroupName: groupName }, ...more });
const nodes = (...names: readonly string[]): readonly unknown[] => names.map((name) => node(name, { cpu: '1' }));

const play = (cluster: Cluster): readonly Step[] => scheduleAll(cluster, cluster.waiting, { evicts: true }).steps;
const nodesOf = (steps: readonly Step[]): unknown => steps.map(({ placement, chosen }) => placement.node ?? chosen?.node ?? null);
const victimsOf = (steps: readonly Step[]): unknown => steps.map(({ chosen }) => chosen?.victims.map(({ name }) => name) ?? []);

describe('a PodGroup that is disrupted as a whole', () => {
  const objects = [
    ...nodes('a', 'b'),
    group('train', { all: true, priority: 1 }),
    member('train-0', 'train', { nodeName: 'a', priority: 1 }),
    member('train-1', 'train', { nodeName: 'b', priority: 1 }),
    pod('new', { cpu: '1' }, { priority: 5 }),
  ];
  const victims = (cluster: Cluster): unknown => {
    const [waiting] = cluster.waiting;
    if (waiting === undefined) throw new Error('no pod waits');
    return preempt(cluster, placePod(cluster, waiting)).candidates.map((each) => [each.node, each.victims.map(({ name }) => name)]);
  };

  it('is one victim, on all its nodes', () => {
    expect(victims(clusterOf(objects))).toEqual([
      ['a', ['train-0', 'train-1']],
      ['b', ['train-0', 'train-1']],
    ]);
  });

  it('is several victims where the gate is off', () => {
    expect(victims(clusterOf(objects, false))).toEqual([
      ['a', ['train-0']],
      ['b', ['train-1']],
    ]);
  });
});

describe('a gang', () => {
  const two = [
    group('gang', { minCount: 2, priority: 5 }),
    member('gang-0', 'gang', { priority: 5 }),
    member('gang-1', 'gang', { priority: 5 }),
  ];
  const low = (name: string, at: string): unknown => pod(name, { cpu: '1' }, { nodeName: at, priority: 1 });

  it('gets all its nodes or none', () => {
    expect(nodesOf(play(clusterOf([...nodes('a', 'b'), ...two])))).toEqual(['a', 'b']);
    const steps = play(clusterOf([...nodes('a'), ...two]));
    expect(nodesOf(steps)).toEqual([null, null]);
    expect(steps.map(({ message }) => message)).toEqual([
      'minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, No preemption victims found for incoming preemptor',
      '0/1 nodes are available: 1 Insufficient cpu.',
    ]);
  });

  it('counts the members that are on nodes already', () => {
    const running = member('gang-0', 'gang', { priority: 5, nodeName: 'a' });
    const cluster = clusterOf([
      ...nodes('a', 'b'),
      group('gang', { minCount: 2, priority: 5 }),
      running,
      member('gang-1', 'gang', { priority: 5 }),
    ]);
    expect(nodesOf(play(cluster))).toEqual(['b']);
  });

  it('is not tried before so many members exist', () => {
    const [own, first] = two;
    const [step] = play(clusterOf([...nodes('a', 'b'), own, first]));
    expect(step).toMatchObject({ chosen: null, message: 'waiting for minCount pods from a gang to appear in scheduling queue' });
  });

  it('is not tried before its PodGroup exists', () => {
    const [step] = play(clusterOf([...nodes('a'), member('gang-0', 'gang')]));
    expect(step).toMatchObject({ chosen: null, message: `waiting for pods's pod group "gang" to appear in scheduling queue` });
  });

  it('evicts on the nodes that it would choose in an empty cluster, even beside a free one', () => {
    const cluster = clusterOf([...nodes('a', 'b', 'free'), low('x', 'a'), low('y', 'b'), ...two]);
    const before = cluster.nodes.map(({ used, pods }) => [...used, pods.length]);
    const steps = play(cluster);
    expect(nodesOf(steps)).toEqual(['a', 'b']);
    expect(victimsOf(steps)).toEqual([['x', 'y'], []]);
    expect(steps[0]?.message).toContain('found a placement for podgroup, preempting 2 victims');
    expect(cluster.nodes.map(({ used, pods }) => [...used, pods.length])).toEqual(before);
  });

  it('evicts without regard to images, although it would choose their node if that were free', () => {
    const [own, first] = [group('gang', { minCount: 1, priority: 5 }), member('gang-0', 'gang', { priority: 5 })];
    const withImage = node('b', { cpu: '1' });
    const status = { ...(withImage['status'] as object), images: [{ names: ['main:latest'], sizeBytes: 900e6 }] };
    const places = [node('a', { cpu: '1' }), { ...withImage, status }];
    expect(nodesOf(play(clusterOf([...places, own, first])))).toEqual(['b']);
    expect(nodesOf(play(clusterOf([...places, low('x', 'a'), low('y', 'b'), own, first])))).toEqual(['a']);
  });

  it('puts back what leaves room on its nodes', () => {
    const wide = ['a', 'b'].map((name) => node(name, { cpu: '2' }));
    const steps = play(clusterOf([...wide, low('x', 'a'), low('y', 'b'), pod('z', { cpu: '1' }, { nodeName: 'b', priority: 2 }), ...two]));
    expect(victimsOf(steps)).toEqual([['y'], []]);
  });

  it('evicts no pod when even all of them would not be enough', () => {
    expect(victimsOf(play(clusterOf([...nodes('a'), low('x', 'a'), ...two])))).toEqual([[], []]);
  });

  it('evicts no pod when a member never preempts', () => {
    const [own, first] = two;
    const never = member('gang-1', 'gang', { priority: 5, preemptionPolicy: 'Never' });
    expect(victimsOf(play(clusterOf([...nodes('a', 'b'), low('x', 'a'), own, first, never])))).toEqual([[], []]);
  });
});
