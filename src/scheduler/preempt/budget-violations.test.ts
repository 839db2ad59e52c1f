import { expect, it } from 'vitest';
import { node, pod } from '../../../test/support/scheduler-objects.ts';
import { objectOf } from '../../kube/objects/object.ts';
import { Cluster } from '../cluster/cluster.ts';
import { clusterInputOf } from '../objects/cluster-input.ts';
import { placePod } from '../place/place.ts';
import { preempt } from './preempt.ts';

const budget = (name: string, labels: object, disruptionsAllowed: number): unknown => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: 'default' },
  spec: { selector: { matchLabels: labels } },
  status: { disruptionsAllowed },
});
const low = (name: string, labels: object): unknown =>
  pod(name, { cpu: '1' }, { nodeName: 'a', priority: 1, metadata: { labels }, status: { startTime: '2026-01-01T00:00:00Z' } });

/** The first pod is under both budgets, the second one under the wide one, which allows one. */
const OBJECTS = [
  node('a', { cpu: '2' }),
  low('both', { app: 'x', tier: 'y' }),
  low('wide', { tier: 'y' }),
  budget('narrow', { app: 'x' }, 0),
  budget('wide', { tier: 'y' }, 1),
  pod('new', { cpu: '2' }, { priority: 5 }),
];

it.each([
  [35, 2],
  [36, 2],
  [37, 1],
])('counts in 1.%i that %i victims break a budget, by whether a pod stops at the first one', (minor, violations) => {
  const cluster = new Cluster(
    clusterInputOf(
      OBJECTS.flatMap((each) => objectOf(each) ?? []),
      { minor, hasGroups: false },
    ),
  );
  const [waiting] = cluster.waiting;
  if (waiting === undefined) throw new Error('no pod waits');
  expect(preempt(cluster, placePod(cluster, waiting)).candidates.map((each) => each.violations)).toEqual([violations]);
});
