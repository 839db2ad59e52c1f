import { describe, expect, it } from 'vitest';
import { MemoryWorld, podNamed, valueOf } from '../../../test/kube/memory-world.ts';
import { createRng } from '../../core/rng.ts';
import type { KubeApi } from '../api/kube-api.ts';
import type { Failure } from '../api/outcome.ts';
import type { Resource } from '../api/resource.ts';
import { PODS } from '../api/resources.ts';
import { refusal } from '../memory/refusals.ts';
import { plainKind } from '../memory/stored-kind.ts';
import type { Weather } from '../memory/weather.ts';
import { Reflector } from './reflector.ts';
import { Store, type StoreChange } from './store.ts';

const { signal } = new AbortController();
const JOBS: Resource = { group: 'kubeflow.org', version: 'v1', plural: 'pytorchjobs', kind: 'PyTorchJob', isNamespaced: true };

interface Mirror {
  readonly world: MemoryWorld;
  readonly reflector: Reflector;
  readonly store: Store;
  readonly changes: readonly StoreChange[];
  readonly troubles: readonly (Failure | Error)[];
  names(): readonly string[];
}

/** A reflector that runs in a world with pods `a` and `b`. */
function mirror(
  weather: Partial<Weather> = {},
  more: { readonly resource?: Resource; readonly api?: (api: KubeApi) => KubeApi } = {},
): Mirror {
  const world = new MemoryWorld();
  for (const name of ['a', 'b']) world.pod(name);
  const store = new Store({ node: (pod) => [String((pod['spec'] as { nodeName?: string })?.nodeName)] });
  const changes: StoreChange[] = [];
  const troubles: (Failure | Error)[] = [];
  const api = world.api(weather);
  const reflector = new Reflector({
    api: more.api?.(api) ?? api,
    resource: more.resource ?? PODS,
    selection: { namespace: null },
    store,
    trim: (object) => object,
    onChange: (change) => changes.push(change),
    onTrouble: (trouble) => troubles.push(trouble),
    clock: world.clock,
    rng: createRng(3),
  });
  reflector.run({ signal }).catch(() => undefined);
  return { world, reflector, store, changes, troubles, names: () => [...store.all()].map(({ metadata }) => metadata.name).sort() };
}

/** Deletes a pod as its kubelet does. */
function remove({ cluster }: MemoryWorld, name: string): void {
  valueOf(cluster.delete(PODS, { namespace: 'ml', name }, { graceSeconds: 0 }));
}

describe('a reflector', () => {
  it('lists in pages, then follows every change', async () => {
    const mirrored = mirror();
    for (let i = 0; i < 1200; i++) mirrored.world.pod(`many-${i}`);
    await mirrored.world.clock.advance(0);
    expect(mirrored.store.size).toBe(1202);
    await mirrored.reflector.synced;
    remove(mirrored.world, 'a');
    mirrored.world.pod('c', { spec: { nodeName: 'node-2' } });
    await mirrored.world.clock.advance(0);
    expect(mirrored.store.get({ namespace: 'ml', name: 'a' })).toBeNull();
    expect(mirrored.store.by('node', 'node-2').map(({ metadata }) => metadata.name)).toEqual(['c']);
    expect(mirrored.reflector.state).toBe('watching');
  });

  it('lists again when its version is too old, and reports exactly what changed meanwhile', async () => {
    let isAway = false;
    const mirrored = mirror({
      request: () => ({ latencyMs: 0, failure: isAway ? refusal('unavailable', 'away') : null, isDone: false }),
      watch: () => ({ lagMs: 0, isRepeated: false, end: isAway ? refusal('unavailable', 'cut') : null }),
    });
    await mirrored.world.clock.advance(0);
    isAway = true;
    mirrored.world.pod('c');
    remove(mirrored.world, 'a');
    await mirrored.world.clock.advance(1000);
    mirrored.world.cluster.compact();
    expect(mirrored.names()).toEqual(['a', 'b']);
    isAway = false;
    await mirrored.world.clock.advance(60_000);
    expect(mirrored.names()).toEqual(['b', 'c']);
    expect(mirrored.changes.slice(2).map(({ before, after }) => [before?.metadata.name, after?.metadata.name])).toEqual([
      ['a', undefined],
      [undefined, 'c'],
    ]);
  });

  it('never gives up: it pauses longer and longer, names the failure, and recovers by itself', async () => {
    let requests = 0;
    let isAway = true;
    const mirrored = mirror({
      request: () => {
        requests += 1;
        return { latencyMs: 0, failure: isAway ? refusal('forbidden', 'no permission') : null, isDone: false };
      },
    });
    await mirrored.world.clock.advance(3_600_000);
    expect(mirrored.reflector).toMatchObject({
      state: 'waiting',
      hasSynced: false,
      failure: { kind: 'forbidden', message: 'no permission' },
    });
    expect(requests).toBeGreaterThan(90);
    expect(requests).toBeLessThan(200);
    isAway = false;
    await mirrored.world.clock.advance(60_000);
    expect(mirrored.reflector).toMatchObject({ state: 'watching', hasSynced: true, failure: null });
    expect(mirrored.names()).toEqual(['a', 'b']);
  });

  it('waits for a kind that is not installed yet', async () => {
    const mirrored = mirror({}, { resource: JOBS });
    await mirrored.world.clock.advance(10_000);
    expect(mirrored.reflector.failure?.kind).toBe('notFound');
    mirrored.world.cluster.install(plainKind(JOBS));
    const metadata = { name: 'train', namespace: 'ml' };
    valueOf(mirrored.world.cluster.create(JOBS, { apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', metadata }));
    await mirrored.world.clock.advance(60_000);
    expect(mirrored.names()).toEqual(['train']);
  });

  it('reports an event that is repeated once', async () => {
    const mirrored = mirror({ watch: () => ({ lagMs: 5, isRepeated: true, end: null }) });
    await mirrored.world.clock.advance(0);
    mirrored.world.pod('c');
    remove(mirrored.world, 'c');
    await mirrored.world.clock.advance(1000);
    expect(mirrored.changes.slice(2).map(({ after }) => after?.metadata.name)).toEqual(['c', undefined]);
  });

  it('gives up a watch that fell silent, and misses nothing', async () => {
    let watches = 0;
    const mirrored = mirror(
      {},
      {
        // A connection that died without a word: nothing arrives, and nothing ends.
        api: (api) =>
          new Proxy(api, {
            get: (target, name) => {
              const value: unknown = Reflect.get(target, name);
              if (typeof value !== 'function') return value;
              if (name !== 'watch' || watches++ > 0) return value.bind(target) as unknown;
              return (_: Resource, __: unknown, ___: unknown, options: { readonly signal: AbortSignal }) =>
                new Promise((_resolve, reject) => {
                  options.signal.addEventListener('abort', () => reject(options.signal.reason as Error));
                });
            },
          }),
      },
    );
    await mirrored.world.clock.advance(0);
    mirrored.world.pod('c');
    await mirrored.world.clock.advance(60_000);
    expect(mirrored.names()).toEqual(['a', 'b']);
    await mirrored.world.clock.advance(60_000);
    expect(mirrored.names()).toEqual(['a', 'b', 'c']);
  });

  it('opens a watch that ends at once again with pauses', async () => {
    let watches = 0;
    const mirrored = mirror({
      request: ({ verb }) => {
        if (verb === 'watch') watches += 1;
        return { latencyMs: 0, failure: null, isDone: false };
      },
      watch: () => ({ lagMs: 0, isRepeated: false, end: { ok: true, value: null } }),
    });
    await mirrored.world.clock.advance(0);
    mirrored.world.pod('c');
    await mirrored.world.clock.advance(60_000);
    expect(watches).toBeGreaterThan(3);
    expect(watches).toBeLessThan(15);
  });

  it('reports what its listener throws, and goes on', async () => {
    const world = new MemoryWorld();
    const troubles: (Failure | Error)[] = [];
    const store = new Store();
    const reflector = new Reflector({
      api: world.api(),
      resource: PODS,
      selection: { namespace: null },
      store,
      trim: (object) => object,
      onChange: () => {
        throw new Error('a fault of the listener');
      },
      onTrouble: (trouble) => troubles.push(trouble),
      clock: world.clock,
      rng: createRng(1),
    });
    reflector.run({ signal }).catch(() => undefined);
    await world.clock.advance(0);
    for (const name of ['a', 'b']) valueOf(world.cluster.create(PODS, podNamed(name)));
    await world.clock.advance(0);
    expect(store.size).toBe(2);
    expect(troubles.map(({ message }) => message)).toEqual(['a fault of the listener', 'a fault of the listener']);
  });
});
