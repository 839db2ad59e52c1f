import { expect, it } from 'vitest';
import { describeKubeApi } from '../../../test/kube/kube-api-suite.ts';
import { MemoryWorld, podNamed, valueOf } from '../../../test/kube/memory-world.ts';
import { PODS } from '../api/resources.ts';
import { collectGarbage } from './garbage.ts';
import { refusal } from './refusals.ts';

const { signal } = new AbortController();
const world = new MemoryWorld();

describeKubeApi(
  'the API of a cluster in memory',
  () =>
    Promise.resolve({
      api: world.api(),
      namespace: 'ml',
      eventually: async (what, look) => {
        for (let tries = 0; tries < 20; tries++) {
          const found = await look();
          if (found !== null) return found;
          collectGarbage(world.cluster);
          await world.clock.advance(1000);
        }
        throw new Error(`waited in vain for ${what}`);
      },
    }),
  () => Promise.resolve(),
);

it('a cluster in memory does a request whose answer is lost, and does not do one that is refused', async () => {
  const other = new MemoryWorld();
  const failing = (isDone: boolean): ReturnType<MemoryWorld['api']> =>
    other.api({ request: () => ({ latencyMs: 0, failure: refusal('unavailable', 'no answer'), isDone }) });
  expect(await failing(false).create(PODS, podNamed('refused'), { signal })).toMatchObject({ kind: 'unavailable' });
  expect(other.cluster.get(PODS, { namespace: 'ml', name: 'refused' })).toMatchObject({ kind: 'notFound' });
  expect(await failing(true).create(PODS, podNamed('lost'), { signal })).toMatchObject({ kind: 'unavailable' });
  expect(other.cluster.get(PODS, { namespace: 'ml', name: 'lost' })).toMatchObject({ ok: true });
});

it('a watch and a list that continue from a forgotten version are gone', async () => {
  const other = new MemoryWorld();
  const api = other.api();
  for (const name of ['a', 'b', 'c']) other.pod(name);
  const first = valueOf(await api.list(PODS, { namespace: 'ml', limit: 1, continueAt: null }, { signal }));
  other.pod('d');
  other.cluster.compact();
  const next = { namespace: 'ml', limit: 1, continueAt: first.continueAt };
  expect(await api.list(PODS, next, { signal })).toMatchObject({ kind: 'gone' });
  const query = { namespace: 'ml', resourceVersion: first.resourceVersion, timeoutSeconds: 5 };
  expect(await api.watch(PODS, query, () => undefined, { signal })).toMatchObject({ kind: 'gone' });
});

it('a watch sends a bookmark after a minute without changes', async () => {
  const other = new MemoryWorld();
  other.pod('a');
  const types: string[] = [];
  const query = { namespace: 'elsewhere', resourceVersion: '1', timeoutSeconds: 100 };
  const over = other.api().watch(PODS, query, (event) => types.push(event.type), { signal });
  await other.clock.advance(100_000);
  expect(await over).toEqual({ ok: true, value: null });
  expect(types).toEqual(['bookmark']);
});
