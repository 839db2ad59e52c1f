import type { Clock } from '../../core/clock.ts';
import { type ApiObject, type NewObject, type ObjectKey, keyOf } from '../api/api-object.ts';
import type {
  DeleteOptions,
  EvictOptions,
  KubeApi,
  LogOptions,
  Page,
  PageQuery,
  ProxyOptions,
  RequestOptions,
  Selection,
  WatchEvent,
  WatchQuery,
  WriteOptions,
} from '../api/kube-api.ts';
import { type Outcome, succeeded } from '../api/outcome.ts';
import type { Resource } from '../api/resource.ts';
import { PODS } from '../api/resources.ts';
import { textAt } from '../objects/fields.ts';
import type { MemoryCluster } from './memory-cluster.ts';
import { evictPod } from './evict-pod.ts';
import { MemoryPages } from './memory-pages.ts';
import { watchMemory } from './memory-watch.ts';
import { mergePatch } from './merge-patch.ts';
import { type PodAnswers, SILENT } from './pod-answers.ts';
import { refusal } from './refusals.ts';
import { type Predicate, selectorOf } from './selectors.ts';
import { CALM, type Call, type Weather } from './weather.ts';

/** The way of one client to a cluster in memory. */
export interface MemoryApiOptions {
  readonly clock: Clock;
  readonly weather?: Weather;
  readonly answers?: PodAnswers;
}

/** The API of a cluster in memory, through the faults of a weather. */
export class MemoryApi implements KubeApi {
  readonly #cluster: MemoryCluster;
  readonly #clock: Clock;
  readonly #weather: Weather;
  readonly #answers: PodAnswers;
  readonly #pages: MemoryPages;

  constructor(cluster: MemoryCluster, { clock, weather = CALM, answers = SILENT }: MemoryApiOptions) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#weather = weather;
    this.#answers = answers;
    this.#pages = new MemoryPages(cluster);
  }

  get(resource: Resource, key: ObjectKey, options: RequestOptions): Promise<Outcome<ApiObject>> {
    return this.#request({ verb: 'get', resource, key }, options, () => this.#cluster.get(resource, key));
  }

  list(resource: Resource, query: PageQuery, options: RequestOptions): Promise<Outcome<Page>> {
    return this.#request({ verb: 'list', resource, key: null }, options, () => {
      const selects = predicateOf(query);
      return 'ok' in selects ? selects : this.#pages.list(resource, query, selects);
    });
  }

  async watch(
    resource: Resource,
    query: WatchQuery,
    hear: (event: WatchEvent) => void,
    { signal }: RequestOptions,
  ): Promise<Outcome<null>> {
    const call: Call = { verb: 'watch', resource, key: null };
    const opened = await this.#request(call, { signal }, () => {
      const [history, selects] = [this.#cluster.historyOf(resource), predicateOf(query)];
      if (history === null) return refusal('notFound', `the server has no ${resource.plural}`);
      return 'ok' in selects ? selects : succeeded({ history, selects });
    });
    if (!opened.ok) return opened;
    const [fault, versionNow] = [() => this.#weather.watch(call), () => this.#cluster.version];
    return watchMemory({ ...opened.value, query, hear, clock: this.#clock, signal, fault, versionNow });
  }

  create(resource: Resource, object: NewObject, options: RequestOptions): Promise<Outcome<ApiObject>> {
    const { name, namespace = null } = object.metadata;
    const key = name === undefined ? null : { namespace, name };
    return this.#request({ verb: 'create', resource, key }, options, () => this.#cluster.create(resource, object));
  }

  replace(resource: Resource, object: ApiObject, { signal, subresource }: WriteOptions): Promise<Outcome<ApiObject>> {
    const call: Call = { verb: 'replace', resource, key: keyOf(object) };
    return this.#request(call, { signal }, () => this.#cluster.replace(resource, object, subresource ?? 'rest'));
  }

  patch(
    resource: Resource,
    key: ObjectKey,
    fields: Readonly<Record<string, unknown>>,
    { signal, subresource }: WriteOptions,
  ): Promise<Outcome<ApiObject>> {
    return this.#request({ verb: 'patch', resource, key }, { signal }, () => {
      const stored = this.#cluster.get(resource, key);
      return stored.ok ? this.#cluster.replace(resource, mergePatch(stored.value, fields) as ApiObject, subresource ?? 'rest') : stored;
    });
  }

  delete(resource: Resource, key: ObjectKey, { signal, ...deletion }: DeleteOptions): Promise<Outcome<null>> {
    return this.#request({ verb: 'delete', resource, key }, { signal }, () => this.#cluster.delete(resource, key, deletion));
  }

  evict(pod: ObjectKey, { signal, uid, isDryRun }: EvictOptions): Promise<Outcome<null>> {
    return this.#request({ verb: 'evict', resource: PODS, key: pod }, { signal }, () => evictPod(this.#cluster, pod, { uid, isDryRun }));
  }

  logTail(pod: ObjectKey, { signal, ...options }: LogOptions): Promise<Outcome<string>> {
    return this.#request({ verb: 'log', resource: PODS, key: pod }, { signal }, () => {
      const stored = this.#cluster.get(PODS, pod);
      if (!stored.ok) return stored;
      const text = this.#answers.log(pod, options);
      return text === null
        ? refusal('invalid', `container "${options.container}" in pod "${pod.name}" is waiting to start`)
        : succeeded(text.slice(-options.mostBytes));
    });
  }

  proxyGet(pod: ObjectKey, { signal, ...options }: ProxyOptions): Promise<Outcome<string>> {
    return this.#request({ verb: 'proxy', resource: PODS, key: pod }, { signal }, () => {
      const stored = this.#cluster.get(PODS, pod);
      if (!stored.ok) return stored;
      const text = textAt(stored.value, 'status', 'phase') === 'Running' ? this.#answers.get(pod, options) : null;
      return text === null ? refusal('unavailable', `pod "${pod.name}" does not answer`) : succeeded(text.slice(0, options.mostBytes));
    });
  }

  /** One transaction, through the weather. */
  async #request<T>(call: Call, { signal }: RequestOptions, transact: () => Outcome<T>): Promise<Outcome<T>> {
    signal.throwIfAborted();
    const { latencyMs, failure, isDone } = this.#weather.request(call);
    if (latencyMs > 0) await this.#clock.sleep(latencyMs, { signal });
    if (failure !== null && !isDone) return failure;
    const outcome = transact();
    this.#weather.done(call);
    signal.throwIfAborted();
    return failure ?? outcome;
  }
}

function predicateOf({ labelSelector = '', fieldSelector = '' }: Selection): Predicate | ReturnType<typeof refusal> {
  const selector = selectorOf(labelSelector, fieldSelector);
  return selector.ok ? selector.value : refusal('invalid', selector.reason);
}
