import { expect, it, vi } from 'vitest';
import { MemoryWorld, valueOf } from '../../../test/kube/memory-world.ts';
import { NODES, PODS } from '../../kube/api/resources.ts';
import { followPods } from './follow-pods.ts';

it('pods that are deleted, and pods of a node that is lost, are reported, and again after a failure', async () => {
  const world = new MemoryWorld();
  const ready = (status: string) => ({ status: { conditions: [{ type: 'Ready', status }] } });
  valueOf(world.cluster.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' }, ...ready('True') }));
  for (const name of ['a', 'b']) world.pod(name, { status: { phase: 'Running' } });
  world.pod('elsewhere', { metadata: { name: 'elsewhere', namespace: 'other' } });
  const ended: string[] = [];
  const troubles: string[] = [];
  const over = new AbortController();
  const following = followPods({
    api: world.api(),
    namespace: 'ml',
    clock: world.clock,
    rng: world.rng,
    signal: over.signal,
    onEnd: async (pod, { notice, isGone }) => {
      if (pod === 'a' && isGone && troubles.length === 0) throw new Error('the database is busy');
      ended.push(`${pod}: ${notice ?? 'nothing'}${isGone ? ', gone' : ''}`);
    },
    onTrouble: ({ message }) => void troubles.push(message),
  });
  const until = (count: number): Promise<unknown> =>
    vi.waitUntil(async () => {
      await world.clock.advance(100);
      return ended.length >= count;
    });
  await world.clock.advance(1000);
  valueOf(world.cluster.delete(PODS, { namespace: 'ml', name: 'a' }, { graceSeconds: 0 }));
  await until(1);
  expect(ended).toEqual(['a: the pod was deleted, gone']);
  expect(troubles).toEqual(['the database is busy']);
  const api = world.api();
  valueOf(await api.patch(NODES, { namespace: null, name: 'node-1' }, ready('Unknown'), { signal: over.signal }));
  await until(2);
  expect(ended.slice(1)).toEqual(['b: the node of the pod is lost, gone']);
  over.abort();
  await following;
});
