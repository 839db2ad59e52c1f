import { VirtualClock } from '../../src/core/clock.ts';
import { createRng } from '../../src/core/rng.ts';
import type { ApiObject, NewObject } from '../../src/kube/api/api-object.ts';
import type { Outcome } from '../../src/kube/api/outcome.ts';
import { BUDGETS, EVENTS, LEASES, NODES, PODS, SERVICES } from '../../src/kube/api/resources.ts';
import { MemoryApi } from '../../src/kube/memory/memory-api.ts';
import { MemoryCluster } from '../../src/kube/memory/memory-cluster.ts';
import { plainKind } from '../../src/kube/memory/stored-kind.ts';
import { CALM, type Weather } from '../../src/kube/memory/weather.ts';

/**
 * A cluster in memory with the kinds that every controller uses, and a clock that tests advance.
 */
export class MemoryWorld {
  readonly clock = new VirtualClock();
  readonly rng = createRng(1);
  readonly cluster = new MemoryCluster({
    clock: this.clock,
    rng: this.rng,
    kinds: [
      ...[EVENTS, LEASES, NODES, SERVICES].map((resource) => plainKind(resource)),
      plainKind(BUDGETS, true),
      { ...plainKind(PODS, true), isGraceful: true },
    ],
  });

  /** A client, behind these faults. */
  api(weather: Partial<Weather> = {}): MemoryApi {
    return new MemoryApi(this.cluster, { clock: this.clock, weather: { ...CALM, ...weather } });
  }

  pod(name: string, more: Readonly<Record<string, unknown>> = {}): ApiObject {
    return valueOf(this.cluster.create(PODS, podNamed(name, more)));
  }
}

/** A pod to create. */
export function podNamed(name: string, more: Readonly<Record<string, unknown>> = {}): NewObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'ml' }, spec: { nodeName: 'node-1' }, ...more };
}

/** The value of an outcome that must be a success. */
export function valueOf<T>(outcome: Outcome<T>): T {
  if (!outcome.ok) throw new Error(`${outcome.kind}: ${outcome.message}`);
  return outcome.value;
}
