import { expect, it } from 'vitest';
import { objects } from '../../../test/support/cluster-objects.ts';
import { ClusterState, CRITICAL_PRIORITY } from './cluster-state.ts';

const pod = (name: string, spec: object, status: object = {}): object => ({ kind: 'Pod', metadata: { name }, spec, status });

it('the rivals on a node are pods nominated for it and critical pods, and no other pods', () => {
  const state = new ClusterState(
    objects(
      pod('waits', {}, { nominatedNodeName: 'n1' }),
      pod('came', { nodeName: 'n1' }, { nominatedNodeName: 'n1' }),
      pod('critical', { nodeName: 'n1', priority: CRITICAL_PRIORITY }),
      pod('ordinary', { nodeName: 'n1', priority: 1000 }),
      pod('elsewhere', { nodeName: 'n2', priority: CRITICAL_PRIORITY }),
    ),
  );
  expect(state.rivalsOn('n1').map(({ object }) => object.name)).toEqual(['waits', 'came', 'critical']);
});
