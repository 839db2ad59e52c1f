import type { KubeApi } from '../../src/kube/api/kube-api.ts';

/** Which call ends the operator, counted over all calls that can be its last. */
export interface DeadlyCall {
  calls: number;
  /** Negative: none. */
  readonly at: number;
  readonly isAfter: boolean;
}

const WRITES = ['create', 'replace', 'patch', 'delete', 'evict'];

/** An API whose calls that write are counted; one of them ends the operator before or after it. */
export function mortalApi(api: KubeApi, deadly: DeadlyCall): KubeApi {
  const writes = new Set(WRITES);
  return new Proxy(api, {
    get: (target, name) => {
      const method = Reflect.get(target, name) as (...words: unknown[]) => Promise<unknown>;
      if (!writes.has(String(name))) return method.bind(target);
      return async (...words: unknown[]) => {
        deadly.calls += 1;
        if (deadly.calls !== deadly.at) return method.apply(target, words);
        if (deadly.isAfter) await method.apply(target, words);
        throw new Error('the operator was killed');
      };
    },
  });
}
