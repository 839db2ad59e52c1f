import type { Rng } from '../../src/core/rng.ts';
import type { ObjectKey } from '../../src/kube/api/api-object.ts';
import { keyText } from '../../src/kube/api/api-object.ts';
import type { KubeApi } from '../../src/kube/api/kube-api.ts';
import { EVENTS, LEASES } from '../../src/kube/api/resources.ts';
import type { Resource } from '../../src/kube/api/resource.ts';
import { fieldsOf, listAt, numberAt, textAt } from '../../src/kube/objects/fields.ts';
import { MemoryApi } from '../../src/kube/memory/memory-api.ts';
import { Operator } from '../../src/operator/run/operator.ts';
import { throughProxy } from '../../src/operator/run/read-status.ts';
import type { ClusterTruth } from './cluster-truth.ts';
import { FAULT_CONDITIONS } from './troubles.ts';
import { StormyWeather } from './weather.ts';

/** A request of an operator that may write. */
export interface WriteCall {
  readonly verb: 'create' | 'replace' | 'patch' | 'delete';
  readonly resource: Resource;
  readonly key: ObjectKey;
  readonly object: unknown;
  /** Zero: a pod goes without its kubelet. */
  readonly graceSeconds: number | null;
}

/** What an operator of the simulation is made from. */
export interface OperatorProcessOptions {
  readonly truth: ClusterTruth;
  readonly rng: Rng;
  readonly identity: string;
  readonly hasLease: boolean;
  /** Hears of each write before the API server does it. */
  readonly onWrite: (call: WriteCall) => void;
  /** Makes another API of it: a bug that the simulation must find. */
  readonly spoil: (api: KubeApi, truth: ClusterTruth) => KubeApi;
}

const WEEK_MS = 7 * 86_400_000;
const VERBS: ReadonlySet<string> = new Set(['get', 'list', 'create', 'replace', 'patch', 'delete', 'logTail']);

/**
 * An operator process, as it is deployed. It dies before or after any of its requests, and starts
 * again a while later.
 */
export class OperatorProcess {
  readonly weather: StormyWeather;
  readonly #options: OperatorProcessOptions;
  #lives = 0;
  #isMortal = true;
  #control: AbortController | null = null;
  #ended: Promise<void> = Promise.resolve();
  #startsMs = 0;

  constructor(options: OperatorProcessOptions) {
    this.#options = options;
    this.weather = new StormyWeather(options.rng.fork('weather'), options.truth.clock);
  }

  /** Starts the process if it is dead and its pause is over. */
  keepAlive(): void {
    const { clock } = this.#options.truth;
    if (this.#control === null && clock.now() >= this.#startsMs) this.#start();
  }

  /** From now on nothing kills it, and its requests arrive. */
  calm(): void {
    this.weather.isCalm = true;
    this.#isMortal = false;
    this.#startsMs = 0;
  }

  /** Ends the process as SIGTERM does. */
  async stop(): Promise<void> {
    this.#control?.abort(new Error('SIGTERM'));
    await this.#options.truth.clock.advance(10_000);
    await this.#ended;
  }

  #start(): void {
    const { truth, rng, identity, hasLease, spoil } = this.#options;
    this.#lives += 1;
    const control = new AbortController();
    this.#control = control;
    const own = rng.fork(`life ${this.#lives}`);
    truth.note(`${identity}: starts`);
    const { clock } = truth;
    const answers = { log: ({ name }: { name: string }) => truth.logOf(name), get: ({ name }: { name: string }) => truth.statusOf(name) };
    const plain = new MemoryApi(truth.cluster, { clock, weather: this.weather, answers });
    const api = spoil(this.#mortal(plain, own, control), truth);
    const operator = new Operator({
      api,
      clock,
      rng: own,
      identity: `${identity}-${this.#lives}`,
      watchNamespace: null,
      leaseNamespace: hasLease ? 'system' : null,
      settings: {
        initImage: 'alpine:3.10',
        initTries: 100,
        clusterDomain: null,
        gangScheduler: null,
        supervision: { image: null, isForAll: false },
      },
      keepRunsMs: WEEK_MS,
      faultConditions: FAULT_CONDITIONS,
      cloud: null,
      makeRoomDeadlineMs: 600_000,
      readStatus: throughProxy(api),
      say: () => undefined,
    });
    this.#ended = operator.run({ signal: control.signal }).catch(() => undefined);
  }

  /** The API of one life: after its end, no request does anything. */
  #mortal(api: KubeApi, rng: Rng, control: AbortController): KubeApi {
    const { truth, identity } = this.#options;
    let left = rng.next() < 0.5 ? rng.integer(5, 80) : rng.integer(80, 2000);
    const isAfter = rng.next() < 0.5;
    const die = (what: string): never => {
      truth.note(`${identity}: is killed ${isAfter ? 'after' : 'before'} ${what}`);
      const killed = new Error('SIGKILL');
      this.#control = null;
      this.#startsMs = truth.clock.now() + rng.integer(0, 20_000);
      control.abort(killed);
      throw killed;
    };
    return new Proxy(api, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as (...words: readonly unknown[]) => Promise<unknown>;
        const verb = String(name);
        if (!VERBS.has(verb)) return method.bind(target);
        return async (...words: readonly unknown[]) => {
          control.signal.throwIfAborted();
          const what = this.#announce(verb, words);
          left -= 1;
          const isLast = this.#isMortal && left === 0;
          if (isLast && !isAfter) return die(what);
          const outcome = await method.apply(target, words as unknown[]);
          control.signal.throwIfAborted();
          if (isLast) return die(what);
          if (isWrite(verb)) truth.note(`${identity}: ${what} → ${outcomeText(outcome)}${statusText(words[1])}`);
          return outcome;
        };
      },
    });
  }

  #announce(verb: string, words: readonly unknown[]): string {
    const resource = words[0] as Resource;
    if (!isWrite(verb)) return verb;
    const given = words[1] as { readonly metadata?: { readonly name: string; readonly namespace?: string } } & ObjectKey;
    const key = given.metadata === undefined ? given : { namespace: given.metadata.namespace ?? null, name: given.metadata.name };
    const options = words[2] as { readonly graceSeconds?: number } | undefined;
    const graceSeconds = verb === 'delete' ? (options?.graceSeconds ?? null) : null;
    this.#options.onWrite({ verb, resource, key, object: words[1], graceSeconds });
    if (resource === EVENTS || resource === LEASES) return `${verb} ${resource.plural}`;
    return `${verb} ${resource.plural} ${keyText(key)}${graceSeconds === 0 ? ' by force' : ''}`;
  }
}

function isWrite(verb: string): verb is WriteCall['verb'] {
  return verb === 'create' || verb === 'replace' || verb === 'patch' || verb === 'delete';
}

function outcomeText(outcome: unknown): string {
  const { ok, kind } = outcome as { readonly ok: boolean; readonly kind?: string };
  return ok ? 'ok' : (kind ?? '');
}

/** What a status says, in a few words. */
function statusText(object: unknown): string {
  const status = fieldsOf(fieldsOf(object)['status']);
  const conditions = listAt(status, 'conditions').map((each) => `${textAt(each, 'status') === 'True' ? '' : '!'}${textAt(each, 'type')}`);
  const phase = textAt(status, 'phase');
  if (phase !== null) return ` (attempt ${numberAt(status, 'attempt')} ${phase}: ${textAt(status, 'message')})`;
  return conditions.length === 0 ? '' : ` (${conditions.join(' ')})`;
}
