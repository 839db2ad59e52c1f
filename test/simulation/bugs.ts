import type { ApiObject } from '../../src/kube/api/api-object.ts';
import type { KubeApi } from '../../src/kube/api/kube-api.ts';
import { succeeded } from '../../src/kube/api/outcome.ts';
import { PODS } from '../../src/kube/api/resources.ts';
import { TRAINING_RUNS } from '../../src/operator/training-run/training-run.ts';
import type { Spoil } from './simulate.ts';

/** Replaces some methods of an API. */
function withMethods(api: KubeApi, methods: (api: KubeApi) => Partial<KubeApi>): KubeApi {
  const own = methods(api);
  return new Proxy(api, {
    get: (target, name) =>
      (Reflect.get(own, name) ?? (Reflect.get(target, name) as (...words: unknown[]) => unknown).bind(target)) as unknown,
  });
}

/** Bugs of an operator, as the API server sees them. */
export const WIRE_BUGS: Readonly<Record<string, Spoil>> = {
  'deletes pods without their grace': (real) =>
    withMethods(real, (api) => ({
      delete: (resource, key, options) => api.delete(resource, key, resource === PODS ? { ...options, graceSeconds: 0 } : options),
    })),
  'does not hear that a pod is gone': (real) =>
    withMethods(real, (api) => ({
      watch: (resource, query, hear, options) =>
        api.watch(resource, query, (event) => (resource === PODS && event.type === 'deleted' ? undefined : hear(event)), options),
    })),
  'overwrites what another writer changed': (real, { cluster }) =>
    withMethods(real, (api) => ({
      replace: (resource, object, options) => {
        const stored = cluster.get(resource, { namespace: object.metadata.namespace ?? null, name: object.metadata.name });
        if (!stored.ok) return api.replace(resource, object, options);
        const { resourceVersion } = stored.value.metadata;
        const forced: ApiObject = { ...object, metadata: { ...object.metadata, resourceVersion } };
        return api.replace(resource, forced, options);
      },
    })),
  'takes a record for written that is not': (real) =>
    withMethods(real, (api) => ({
      replace: async (resource, object, options) =>
        resource === TRAINING_RUNS ? succeeded(object) : api.replace(resource, object, options),
    })),
};
