import { createRng } from '../../src/core/rng.ts';
import { EVENTS, JOBS, LEASES } from '../../src/kube/api/resources.ts';
import { MemoryApi } from '../../src/kube/memory/memory-api.ts';
import type { PodAnswers } from '../../src/kube/memory/pod-answers.ts';
import { plainKind } from '../../src/kube/memory/stored-kind.ts';
import { CALM, type Weather } from '../../src/kube/memory/weather.ts';
import { Operator, type OperatorOptions } from '../../src/operator/run/operator.ts';
import { throughProxy } from '../../src/operator/run/read-status.ts';
import type { GangWorld } from './gang-world.ts';

/** An operator process on a cluster in memory. */
export interface Running {
  readonly operator: Operator;
  readonly lines: readonly string[];
  readonly stop: () => Promise<void>;
}

/** Starts an operator on the cluster of a world. */
export function startOperator(
  world: GangWorld,
  more: Partial<OperatorOptions> = {},
  { weather = {}, answers }: { readonly weather?: Partial<Weather>; readonly answers?: PodAnswers } = {},
): Running {
  for (const resource of [EVENTS, LEASES, JOBS]) {
    if (world.cluster.historyOf(resource) === null) world.cluster.install(plainKind(resource, resource === JOBS));
  }
  const { clock } = world;
  const api = new MemoryApi(world.cluster, { clock, weather: { ...CALM, ...weather }, ...(answers === undefined ? {} : { answers }) });
  const lines: string[] = [];
  const operator = new Operator({
    api,
    clock,
    rng: createRng(7),
    identity: 'one',
    watchNamespace: null,
    leaseNamespace: null,
    settings: {
      initImage: 'alpine:3.10',
      initTries: 100,
      clusterDomain: null,
      gangScheduler: null,
      supervision: { image: null, isForAll: false },
    },
    keepRunsMs: 7 * 86_400_000,
    faultConditions: [],
    cloud: null,
    makeRoomDeadlineMs: 60_000,
    readStatus: throughProxy(api),
    say: (line) => lines.push(line),
    ...more,
  });
  const control = new AbortController();
  const ended = operator.run({ signal: control.signal });
  return {
    operator,
    lines,
    stop: async () => {
      control.abort(new Error('SIGTERM'));
      await clock.advance(10_000);
      await ended;
    },
  };
}
