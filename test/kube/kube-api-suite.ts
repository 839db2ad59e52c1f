import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiObject, type NewObject, type ObjectKey, keyOf } from '../../src/kube/api/api-object.ts';
import type { KubeApi, WatchEvent } from '../../src/kube/api/kube-api.ts';
import type { Resource } from '../../src/kube/api/resource.ts';
import { BUDGETS, LEASES, PODS, SERVICES } from '../../src/kube/api/resources.ts';
import { at } from '../../src/kube/objects/fields.ts';
import { valueOf } from './memory-world.ts';

/** An API under test, in a namespace that has nothing else in it. */
export interface ApiUnderTest {
  readonly api: KubeApi;
  readonly namespace: string;
  /** Waits until the answer is not null; lets the controllers of the cluster work meanwhile. */
  readonly eventually: <T>(what: string, look: () => Promise<T | null>) => Promise<T>;
}

const MISSING: Resource = { group: 'holdfast.test', version: 'v1', plural: 'missings', kind: 'Missing', isNamespaced: true };
const { signal } = new AbortController();

/** The contract of a KubeApi, the same for every implementation. */
export function describeKubeApi(title: string, open: () => Promise<ApiUnderTest>, close: () => Promise<void>): void {
  describe(title, () => {
    let api: KubeApi;
    let namespace: string;
    let eventually: ApiUnderTest['eventually'];
    let names = 0;
    const fresh = (): string => {
      names += 1;
      return `name-${names}`;
    };

    beforeAll(async () => {
      ({ api, namespace, eventually } = await open());
    });
    afterAll(close);

    const key = (name: string): ObjectKey => ({ namespace, name });
    const lease = (name: string, more: Readonly<Record<string, unknown>> = {}): NewObject => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace, ...more },
      spec: { holderIdentity: 'first' },
    });
    const pod = (
      name: string,
      spec: Readonly<Record<string, unknown>> = {},
      metadata: Readonly<Record<string, unknown>> = {},
    ): NewObject => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, ...metadata },
      // No scheduler has this name, so nothing happens to the pod.
      spec: { schedulerName: 'holdfast-test', containers: [{ name: 'main', image: 'none' }], ...spec },
    });
    const made = async (resource: Resource, object: NewObject): Promise<ApiObject> =>
      valueOf(await api.create(resource, object, { signal }));
    const stored = async (resource: Resource, name: string): Promise<ApiObject> => valueOf(await api.get(resource, key(name), { signal }));
    const goneSoon = (resource: Resource, name: string): Promise<true> =>
      eventually(`${name} to be gone`, async () => {
        const found = await api.get(resource, key(name), { signal });
        return !found.ok && found.kind === 'notFound' ? true : null;
      });
    const versionNow = async (resource: Resource): Promise<string> =>
      valueOf(await api.list(resource, { namespace, limit: 1, continueAt: null }, { signal })).resourceVersion;
    /** What a watch reports until `isEnough`. */
    const heard = async (
      query: { readonly resource: Resource; readonly from: string; readonly labelSelector?: string },
      isEnough: (events: readonly WatchEvent[]) => boolean,
    ): Promise<readonly WatchEvent[]> => {
      const enough = new AbortController();
      const events: WatchEvent[] = [];
      const { resource, from, labelSelector = '' } = query;
      const hear = (event: WatchEvent): void => {
        if (event.type !== 'bookmark') events.push(event);
        if (isEnough(events)) enough.abort(new Error('enough'));
      };
      const watch = { namespace, labelSelector, resourceVersion: from, timeoutSeconds: 60 };
      await api.watch(resource, watch, hear, { signal: enough.signal }).catch((thrown: unknown) => {
        if (!enough.signal.aborted) throw thrown;
      });
      return events;
    };

    it('create sets uid, version and time, and get reads the same object', async () => {
      const created = await made(LEASES, lease(fresh(), { labels: { a: 'b' } }));
      expect(created.metadata.uid).not.toBe('');
      expect(created.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(created).toMatchObject({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', spec: { holderIdentity: 'first' } });
      expect(await stored(LEASES, created.metadata.name)).toEqual(created);
    });

    it('create makes a name from generateName', async () => {
      const created = await made(LEASES, { ...lease(''), metadata: { namespace, generateName: 'made-' } });
      expect(created.metadata.name).toMatch(/^made-[a-z0-9]{5}$/);
    });

    it('create answers alreadyExists for a name that is taken', async () => {
      const name = fresh();
      await made(LEASES, lease(name));
      expect(await api.create(LEASES, lease(name), { signal })).toMatchObject({ ok: false, kind: 'alreadyExists' });
    });

    it('a missing object and a missing kind are notFound', async () => {
      expect(await api.get(LEASES, key('absent'), { signal })).toMatchObject({ ok: false, kind: 'notFound', status: 404 });
      expect(await api.list(MISSING, { namespace, limit: 5, continueAt: null }, { signal })).toMatchObject({ ok: false, kind: 'notFound' });
      expect(await api.delete(LEASES, key('absent'), { signal })).toMatchObject({ ok: false, kind: 'notFound' });
      const query = { namespace, resourceVersion: '1', timeoutSeconds: 5 };
      expect(await api.watch(MISSING, query, () => undefined, { signal })).toMatchObject({ ok: false, kind: 'notFound' });
    });

    it('create answers invalid for an object that breaks a rule', async () => {
      expect(await api.create(LEASES, { ...lease(''), metadata: { namespace } }, { signal })).toMatchObject({ ok: false, kind: 'invalid' });
    });

    it('replace answers conflict for a version that is not the stored one, and changes nothing', async () => {
      const first = await made(LEASES, lease(fresh()));
      const second = valueOf(await api.replace(LEASES, { ...first, spec: { holderIdentity: 'second' } }, { signal }));
      expect(second.metadata.resourceVersion).not.toBe(first.metadata.resourceVersion);
      expect(await api.replace(LEASES, { ...first, spec: { holderIdentity: 'third' } }, { signal })).toMatchObject({
        ok: false,
        kind: 'conflict',
      });
      expect(await stored(LEASES, first.metadata.name)).toEqual(second);
    });

    it('replace answers notFound for an object that is gone, and conflict for one that was made again', async () => {
      const name = fresh();
      const first = await made(PODS, pod(name));
      valueOf(await api.delete(PODS, key(name), { signal }));
      expect(await api.replace(PODS, first, { signal })).toMatchObject({ ok: false, kind: 'notFound' });
      await made(PODS, pod(name));
      expect(await api.replace(PODS, first, { signal })).toMatchObject({ ok: false, kind: 'conflict' });
    });

    it('a write that changes nothing makes no new version', async () => {
      const created = await made(LEASES, lease(fresh()));
      const replaced = valueOf(await api.replace(LEASES, created, { signal }));
      expect(replaced.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    });

    it('patch merges fields, deletes those that are null, and replaces lists', async () => {
      const { metadata } = await made(LEASES, lease(fresh(), { labels: { a: '1', b: '2' }, finalizers: ['holdfast.test/one'] }));
      const fields = { metadata: { labels: { a: null, c: '3' }, finalizers: ['holdfast.test/two'] } };
      const patched = valueOf(await api.patch(LEASES, key(metadata.name), fields, { signal }));
      expect(patched.metadata.labels).toEqual({ b: '2', c: '3' });
      expect(patched.metadata.finalizers).toEqual(['holdfast.test/two']);
      valueOf(await api.patch(LEASES, key(metadata.name), { metadata: { finalizers: null } }, { signal }));
    });

    it('patch with a version answers conflict where the object has another', async () => {
      const first = await made(LEASES, lease(fresh()));
      const { name, resourceVersion } = first.metadata;
      valueOf(await api.patch(LEASES, key(name), { metadata: { labels: { a: '1' } } }, { signal }));
      const late = { metadata: { resourceVersion, labels: { a: '2' } } };
      expect(await api.patch(LEASES, key(name), late, { signal })).toMatchObject({ ok: false, kind: 'conflict' });
    });

    it('the status is written separately from the rest', async () => {
      const created = await made(PODS, pod(fresh()));
      expect(at(created, 'status', 'phase')).toBe('Pending');
      const changed = { ...created, metadata: { ...created.metadata, labels: { a: '1' } }, status: { phase: 'Running' } };
      const relabelled = valueOf(await api.replace(PODS, changed, { signal }));
      expect(at(relabelled, 'status', 'phase')).toBe('Pending');
      expect(relabelled.metadata.labels).toEqual({ a: '1' });
      const running = { ...relabelled, spec: {}, status: { phase: 'Running' } };
      const started = valueOf(await api.replace(PODS, running, { signal, subresource: 'status' }));
      expect(at(started, 'status', 'phase')).toBe('Running');
      expect(at(started, 'spec', 'schedulerName')).toBe('holdfast-test');
      const failed = valueOf(
        await api.patch(PODS, key(created.metadata.name), { status: { phase: 'Failed' } }, { signal, subresource: 'status' }),
      );
      expect(at(failed, 'status', 'phase')).toBe('Failed');
    });

    it('a pod without a node is deleted at once, whatever its grace', async () => {
      const name = fresh();
      await made(PODS, pod(name));
      valueOf(await api.delete(PODS, key(name), { signal, graceSeconds: 100 }));
      expect(await api.get(PODS, key(name), { signal })).toMatchObject({ ok: false, kind: 'notFound' });
    });

    it('a pod with a node stays for its grace, a shorter one replaces it, and zero deletes it', async () => {
      const name = fresh();
      await made(PODS, pod(name, { nodeName: 'nowhere', terminationGracePeriodSeconds: 300 }));
      valueOf(await api.delete(PODS, key(name), { signal }));
      const first = await stored(PODS, name);
      expect(first.metadata).toMatchObject({ deletionGracePeriodSeconds: 300 });
      valueOf(await api.delete(PODS, key(name), { signal, graceSeconds: 600 }));
      expect((await stored(PODS, name)).metadata.deletionGracePeriodSeconds).toBe(300);
      valueOf(await api.delete(PODS, key(name), { signal, graceSeconds: 200 }));
      const second = await stored(PODS, name);
      expect(second.metadata.deletionGracePeriodSeconds).toBe(200);
      expect(Date.parse(second.metadata.deletionTimestamp ?? '')).toBeLessThan(Date.parse(first.metadata.deletionTimestamp ?? ''));
      valueOf(await api.delete(PODS, key(name), { signal, graceSeconds: 0 }));
      expect(await api.get(PODS, key(name), { signal })).toMatchObject({ ok: false, kind: 'notFound' });
    });

    it('an eviction deletes a pod with its grace, but for a dry run, another uid, and a budget that does not allow it', async () => {
      const name = fresh();
      const { uid } = (await made(PODS, pod(name, { nodeName: 'nowhere', terminationGracePeriodSeconds: 300 }, { labels: { name } })))
        .metadata;
      const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
      valueOf(await api.patch(PODS, key(name), { status }, { signal, subresource: 'status' }));
      const spec = { minAvailable: 1, selector: { matchLabels: { name } } };
      await made(BUDGETS, { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name, namespace }, spec });
      for (const isDryRun of [true, false]) {
        expect(await api.evict(key(name), { signal, uid, isDryRun })).toMatchObject({ ok: false, kind: 'tooManyRequests' });
      }
      valueOf(await api.delete(BUDGETS, key(name), { signal }));
      const allowed = await eventually('the eviction to be allowed', async () => {
        const outcome = await api.evict(key(name), { signal, uid, isDryRun: true });
        return outcome.ok ? outcome : null;
      });
      expect(allowed).toEqual({ ok: true, value: null });
      const wrong = '00000000-0000-4000-8000-000000000000';
      expect(await api.evict(key(name), { signal, uid: wrong, isDryRun: false })).toMatchObject({ ok: false, kind: 'conflict' });
      expect((await stored(PODS, name)).metadata.deletionTimestamp).toBeUndefined();
      valueOf(await api.evict(key(name), { signal, uid, isDryRun: false }));
      expect((await stored(PODS, name)).metadata).toMatchObject({ deletionGracePeriodSeconds: 300 });
      valueOf(await api.delete(PODS, key(name), { signal, graceSeconds: 0 }));
      expect(await api.evict(key(name), { signal, uid, isDryRun: false })).toMatchObject({ ok: false, kind: 'notFound' });
    });

    it('a delete whose uid or version is another one answers conflict', async () => {
      const { metadata } = await made(LEASES, lease(fresh()));
      const wrong = '00000000-0000-4000-8000-000000000000';
      expect(await api.delete(LEASES, key(metadata.name), { signal, uid: wrong })).toMatchObject({ ok: false, kind: 'conflict' });
      const old = metadata.resourceVersion;
      valueOf(await api.patch(LEASES, key(metadata.name), { metadata: { labels: { a: '1' } } }, { signal }));
      expect(await api.delete(LEASES, key(metadata.name), { signal, resourceVersion: old })).toMatchObject({ ok: false, kind: 'conflict' });
      valueOf(await api.delete(LEASES, key(metadata.name), { signal, uid: metadata.uid }));
    });

    it('an object with a finalizer stays until the finalizer is removed, and gets no new one', async () => {
      const name = fresh();
      await made(LEASES, lease(name, { finalizers: ['holdfast.test/hold'] }));
      valueOf(await api.delete(LEASES, key(name), { signal }));
      const marked = await stored(LEASES, name);
      expect(marked.metadata.deletionTimestamp).toBeDefined();
      const more = { metadata: { finalizers: ['holdfast.test/hold', 'holdfast.test/more'] } };
      expect(await api.patch(LEASES, key(name), more, { signal })).toMatchObject({ ok: false, kind: 'invalid' });
      valueOf(await api.patch(LEASES, key(name), { metadata: { finalizers: null } }, { signal }));
      expect(await api.get(LEASES, key(name), { signal })).toMatchObject({ ok: false, kind: 'notFound' });
    });

    it('objects whose owner is deleted are deleted, unless the deletion orphans them', async () => {
      for (const propagation of ['Background', 'Foreground', 'Orphan'] as const) {
        const [owner, owned] = [await made(LEASES, lease(fresh())), fresh()];
        const { uid, name } = owner.metadata;
        const reference = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name, uid, controller: true, blockOwnerDeletion: true };
        await made(LEASES, lease(owned, { ownerReferences: [reference] }));
        valueOf(await api.delete(LEASES, key(name), { signal, propagation }));
        await goneSoon(LEASES, name);
        if (propagation === 'Orphan') expect((await stored(LEASES, owned)).metadata.ownerReferences ?? []).toEqual([]);
        else await goneSoon(LEASES, owned);
      }
    });

    it('a list comes in pages of one version', async () => {
      const labels = { list: fresh() };
      const all = [fresh(), fresh(), fresh(), fresh(), fresh()].sort();
      for (const name of all) await made(LEASES, lease(name, { labels }));
      const query = { namespace, labelSelector: `list=${labels.list}`, limit: 2 };
      const first = valueOf(await api.list(LEASES, { ...query, continueAt: null }, { signal }));
      await made(LEASES, lease(fresh(), { labels }));
      const second = valueOf(await api.list(LEASES, { ...query, continueAt: first.continueAt }, { signal }));
      const third = valueOf(await api.list(LEASES, { ...query, continueAt: second.continueAt }, { signal }));
      expect([...first.items, ...second.items, ...third.items].map(({ metadata }) => metadata.name)).toEqual(all);
      expect(third.continueAt).toBeNull();
      expect(new Set([first, second, third].map(({ resourceVersion }) => resourceVersion)).size).toBe(1);
      expect(third.items[0]).toMatchObject({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' });
      expect(third.items[0]?.metadata).not.toHaveProperty('managedFields');
    });

    it('label and field selectors choose as kubectl does', async () => {
      const mark = fresh();
      const [one, two, three] = [`${mark}-1`, `${mark}-2`, `${mark}-3`];
      await made(PODS, pod(one, {}, { labels: { mark, role: 'master' } }));
      await made(PODS, pod(two, {}, { labels: { mark, role: 'worker' } }));
      await made(PODS, pod(three, { nodeName: 'nowhere' }, { labels: { mark } }));
      const chosen = async (labelSelector: string, fieldSelector = ''): Promise<readonly string[]> =>
        valueOf(await api.list(PODS, { namespace, labelSelector, fieldSelector, limit: 50, continueAt: null }, { signal })).items.map(
          ({ metadata }) => metadata.name,
        );
      expect(await chosen(`mark=${mark}`)).toEqual([one, two, three]);
      expect(await chosen(`mark=${mark},role!=master`)).toEqual([two, three]);
      expect(await chosen(`mark=${mark},role in (master, worker)`)).toEqual([one, two]);
      expect(await chosen(`mark=${mark},role notin (master)`)).toEqual([two, three]);
      expect(await chosen(`mark=${mark},!role`)).toEqual([three]);
      expect(await chosen(`mark=${mark},role`)).toEqual([one, two]);
      expect(await chosen(`mark=${mark}`, 'spec.nodeName=nowhere')).toEqual([three]);
      expect(await chosen(`mark=${mark}`, `metadata.name!=${one}`)).toEqual([two, three]);
    });

    it('a watch reports the changes after its version, in order, and only for selected objects', async () => {
      const [name, other] = [fresh(), fresh()];
      const from = await versionNow(LEASES);
      await made(LEASES, lease(other));
      await made(LEASES, lease(name, { labels: { watched: name } }));
      const patched = valueOf(await api.patch(LEASES, key(name), { spec: { holderIdentity: 'second' } }, { signal }));
      valueOf(await api.patch(LEASES, key(name), { metadata: { labels: { watched: null } } }, { signal }));
      valueOf(await api.patch(LEASES, key(name), { metadata: { labels: { watched: name } } }, { signal }));
      valueOf(await api.delete(LEASES, key(name), { signal }));
      const events = await heard({ resource: LEASES, from, labelSelector: `watched=${name}` }, ({ length }) => length === 5);
      expect(events.map(({ type }) => type)).toEqual(['added', 'modified', 'deleted', 'added', 'deleted']);
      expect(events[1]).toEqual({ type: 'modified', object: patched });
    });

    it('a watch ends by itself in time, and an aborted one rejects with the reason', async () => {
      const query = { namespace, resourceVersion: await versionNow(LEASES), timeoutSeconds: 1 };
      const ended = api.watch(LEASES, query, () => undefined, { signal });
      expect(await eventually('the watch to end', () => Promise.race([ended, Promise.resolve(null)]))).toEqual({ ok: true, value: null });
      const control = new AbortController();
      const calledOff = api.watch(LEASES, { ...query, timeoutSeconds: 100 }, () => undefined, { signal: control.signal });
      control.abort(new Error('called off'));
      await expect(calledOff).rejects.toThrow('called off');
    });

    it('a request with a signal that is aborted rejects with its reason and does nothing', async () => {
      const name = fresh();
      await expect(api.create(LEASES, lease(name), { signal: AbortSignal.abort(new Error('no more')) })).rejects.toThrow('no more');
      expect(await api.get(LEASES, key(name), { signal })).toMatchObject({ ok: false, kind: 'notFound' });
    });

    it('kinds of the core group have their own paths', async () => {
      const name = fresh();
      const spec = { clusterIP: 'None', selector: { a: 'b' }, ports: [{ name: 'main', port: 23456 }] };
      const service = await made(SERVICES, { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec });
      expect(keyOf(service)).toEqual(key(name));
      valueOf(await api.delete(SERVICES, key(name), { signal }));
    });
  });
}
