import { describe, expect, it } from 'vitest';
import { objects } from '../../../test/support/cluster-objects.ts';
import { gpuNode, gpuPod, type GpuPod } from '../../../test/support/whatif-world.ts';
import { Cluster } from '../../scheduler/cluster/cluster.ts';
import { clusterInputOf, podDefaultsOf } from '../../scheduler/objects/cluster-input.ts';
import { schedulerPodOf } from '../../scheduler/objects/pod.ts';
import { chooseRoom, type Leaver, type RoomChoice } from './choose.ts';
import { acceleratorSecondsLost, type LeavingCost } from './leaving-cost.ts';

const NOBODY: ReadonlySet<string> = new Set();

/** A gang of pods with a GPU each, `a-0` on node `a`. */
function leaver(name: string, cost: number, pods: readonly string[], priority = 10): Leaver {
  return { run: `ml/${name}`, title: name, priority, pods: pods.map((pod) => `ml/${pod}`), spare: null, cost };
}

interface Case {
  readonly values: readonly unknown[];
  readonly asking?: GpuPod;
  readonly leavers: readonly Leaver[];
  readonly busy?: ReadonlySet<string>;
}

function choice({ values, asking = {}, leavers, busy = NOBODY }: Case): RoomChoice {
  const [pod] = objects(gpuPod('asks', { priority: 1000, ...asking }));
  if (pod === undefined) throw new Error('the pod was not read');
  const cluster = new Cluster(clusterInputOf(objects(...values), { minor: 35, hasGroups: false }));
  return chooseRoom(cluster, schedulerPodOf(pod, podDefaultsOf([])), leavers, busy);
}

/** An elastic gang that can spare so many of its pods, the last ones first. */
function elastic(name: string, cost: number, pods: readonly string[], count: number): Leaver {
  const own = leaver(name, cost, pods);
  return { ...own, spare: { pods: own.pods.slice(1).toReversed(), count } };
}

/** `b: x y(y-2)`: the node, and the gangs that leave; those that give up some pods with these. */
function told(found: RoomChoice): string {
  if (found.kind !== 'chosen') return found.kind === 'none' ? found.reason : found.kind;
  return `${found.node}: ${found.leaving
    .map(({ leaver: { title }, isWhole, pods }) => (isWhole ? title : `${title}(${pods.map((pod) => pod.slice(3)).join(',')})`))
    .toSorted()
    .join(' ')}`;
}

const on = (node: string, ...names: readonly string[]): readonly unknown[] => names.map((name) => gpuPod(name, { node }));
const budget = (allowed: number, name = 'b'): unknown => ({
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: 'ml' },
  spec: { selector: { matchLabels: { app: 'x' } } },
  status: { disruptionsAllowed: allowed },
});
const two = [gpuNode('a', 1), gpuNode('b', 1), ...on('a', 'x-0'), ...on('b', 'y-0')];
const labelled = (name: string, node: string): unknown => gpuPod(name, { node, labels: { app: 'x' } });

describe('the choice of the gangs that make room', () => {
  it.each<readonly [title: string, expected: string, input: Case]>([
    ['the gang that loses least, on any node', 'b: y', { values: two, leavers: [leaver('x', 50, ['x-0']), leaver('y', 20, ['y-0'])] }],
    [
      'the gang with fewer pods of two that lose the same',
      'b: y',
      { values: two, leavers: [leaver('x', 20, ['x-0', 'x-1']), leaver('y', 20, ['y-0'])] },
    ],
    [
      'one dear gang rather than two that lose more together',
      'a: big',
      {
        values: [gpuNode('a', 4), ...on('a', 's-0', 's-1', 't-0', 't-1')],
        asking: { gpus: 2 },
        leavers: [leaver('small', 6, ['s-0']), leaver('other', 6, ['t-0']), leaver('big', 10, ['s-1', 't-1'])],
      },
    ],
    [
      'two cheap gangs rather than a dear one',
      'a: s t',
      {
        values: [gpuNode('a', 4), ...on('a', 's-0', 't-0', 'd-0', 'd-1')],
        asking: { gpus: 2 },
        leavers: [leaver('s', 1, ['s-0']), leaver('t', 2, ['t-0']), leaver('d', 10, ['d-0', 'd-1'])],
      },
    ],
    [
      'none of a node on which room is being made',
      'a: x',
      { values: two, busy: new Set(['b']), leavers: [leaver('x', 50, ['x-0']), leaver('y', 20, ['y-0'])] },
    ],
    ['none of the same priority', 'no gang that may leave has a lower priority', { values: two, leavers: [leaver('x', 1, ['x-0'], 1000)] }],
    ['none where no gang may leave', 'no supervised gang runs that may leave now', { values: two, leavers: [] }],
    [
      'none where all of them are not enough',
      'no set of gangs frees enough on one node',
      { values: two, asking: { gpus: 2 }, leavers: [leaver('x', 1, ['x-0'])] },
    ],
    ['nothing where a node has room', 'fits', { values: [...two, gpuNode('c', 1)], leavers: [leaver('x', 1, ['x-0'])] }],
    [
      'the dearer gang where a budget keeps the cheaper one whole',
      'b: y',
      {
        values: [
          gpuNode('a', 1),
          gpuNode('b', 1),
          labelled('x-0', 'a'),
          gpuPod('x-1', { labels: { app: 'x' } }),
          ...on('b', 'y-0'),
          budget(0),
        ],
        leavers: [leaver('x', 1, ['x-0']), leaver('y', 20, ['y-0'])],
      },
    ],
    [
      'no gang of which a budget allows only some pods to leave, although one would be enough',
      'a PodDisruptionBudget keeps every set of gangs whose leaving would help',
      { values: [gpuNode('a', 2), labelled('x-0', 'a'), labelled('x-1', 'a'), budget(1)], leavers: [leaver('x', 1, ['x-0', 'x-1'])] },
    ],
    [
      'a gang of which a budget allows all pods to leave',
      'a: x',
      { values: [gpuNode('a', 2), labelled('x-0', 'a'), labelled('x-1', 'a'), budget(2)], leavers: [leaver('x', 1, ['x-0', 'x-1'])] },
    ],
    [
      'only as many pods of an elastic gang as are needed',
      'a: e(e-3)',
      { values: [gpuNode('a', 4), ...on('a', 'e-0', 'e-1', 'e-2', 'e-3')], leavers: [elastic('e', 9, ['e-0', 'e-1', 'e-2', 'e-3'], 2)] },
    ],
    [
      'all pods of an elastic gang where what it can spare is not enough',
      'a: e',
      {
        values: [gpuNode('a', 4), ...on('a', 'e-0', 'e-1', 'e-2', 'e-3')],
        asking: { gpus: 3 },
        leavers: [elastic('e', 9, ['e-0', 'e-1', 'e-2', 'e-3'], 2)],
      },
    ],
    [
      'a part of an elastic gang beside a gang that leaves whole',
      'a: e(e-1) x',
      {
        values: [gpuNode('a', 2), gpuNode('b', 1), ...on('a', 'e-1', 'x-0'), ...on('b', 'e-0')],
        asking: { gpus: 2 },
        leavers: [elastic('e', 9, ['e-0', 'e-1'], 1), leaver('x', 1, ['x-0'])],
      },
    ],
    [
      'a part of an elastic gang of which a budget allows no more pods to leave',
      'a: e(e-2)',
      {
        values: [gpuNode('a', 3), labelled('e-0', 'a'), labelled('e-1', 'a'), labelled('e-2', 'a'), budget(1)],
        leavers: [elastic('e', 9, ['e-0', 'e-1', 'e-2'], 2)],
      },
    ],
    [
      'no gang with a pod of two budgets, which the API server never evicts',
      'a PodDisruptionBudget keeps every set of gangs whose leaving would help',
      { values: [gpuNode('a', 1), labelled('x-0', 'a'), budget(5), budget(5, 'c')], leavers: [leaver('x', 1, ['x-0'])] },
    ],
  ])('takes %s', (_, expected, input) => {
    expect(told(choice(input))).toBe(expected);
  });
});

describe('what a gang loses although it saves first', () => {
  const measured: LeavingCost = { saveSeconds: 5, teardownSeconds: 2, restartSeconds: 30, unsavedSeconds: 600, accelerators: 8 };
  it.each<readonly [title: string, seconds: number, change: Partial<LeavingCost>, others: readonly LeavingCost[]]>([
    ['its save and its restart, and nothing that the save keeps', 8 * 35, {}, []],
    ['its unsaved work too where the save takes longer than the deadline', 8 * (60 + 30 + 600), { saveSeconds: 90 }, []],
    ['the whole deadline and its unsaved work where no save was measured', 8 * (60 + 30 + 600), { saveSeconds: null }, []],
    [
      'the longest restart of the others where its own was never measured',
      8 * (5 + 40),
      { restartSeconds: null },
      [{ ...measured, restartSeconds: 40 }],
    ],
  ])('is %s', (_, seconds, change, others) => {
    expect(acceleratorSecondsLost({ ...measured, ...change }, 60_000, others)).toBe(seconds);
  });
});
