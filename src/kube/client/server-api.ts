import type { ApiObject, NewObject, ObjectKey } from '../api/api-object.ts';
import { keyOf, keyText } from '../api/api-object.ts';
import type {
  DeleteOptions,
  EvictOptions,
  KubeApi,
  LogOptions,
  Page,
  PageQuery,
  ProxyOptions,
  RequestOptions,
  WatchEvent,
  WatchQuery,
  WriteOptions,
} from '../api/kube-api.ts';
import { type Outcome, succeeded } from '../api/outcome.ts';
import { type Resource, resourceName } from '../api/resource.ts';
import { PODS } from '../api/resources.ts';
import { decodeObject, decodePage, jsonOf } from './decode.ts';
import { failureOf, noAnswer } from './request-failure.ts';
import { listPath, objectPath, selectionQuery } from './paths.ts';
import type { RateLimit } from './rate-limit.ts';
import type { HttpRequest, Transport } from './transport.ts';
import { readWatch } from './watch-stream.ts';

/** A request with its name for people: `create pods "ml/train-0"`. */
type Named = Omit<HttpRequest, 'signal'> & { readonly name: string; readonly mostBytes?: number };

/** Log lines may be long: as much is read to find the last ones. */
const LOG_BYTES = 4 * 1024 * 1024;
const MERGE_PATCH = 'application/merge-patch+json';

/** The real API server. Requests wait for their turn at the rate limit; watches do not. */
export class ServerApi implements KubeApi {
  readonly #transport: Transport;
  readonly #limit: RateLimit;

  constructor(transport: Transport, limit: RateLimit) {
    this.#transport = transport;
    this.#limit = limit;
  }

  get(resource: Resource, key: ObjectKey, { signal }: RequestOptions): Promise<Outcome<ApiObject>> {
    return this.#forObject(resource, { name: nameOf('get', resource, key), method: 'GET', path: objectPath(resource, key) }, signal);
  }

  async list(resource: Resource, query: PageQuery, { signal }: RequestOptions): Promise<Outcome<Page>> {
    const parameters = selectionQuery(query);
    parameters.set('limit', String(query.limit));
    if (query.continueAt !== null) parameters.set('continue', query.continueAt);
    const path = `${listPath(resource, query.namespace)}?${parameters.toString()}`;
    const name = `list ${resourceName(resource)}`;
    return this.#request({ name, method: 'GET', path }, signal, (body) => decodePage(resource, jsonOf(body)));
  }

  async watch(
    resource: Resource,
    query: WatchQuery,
    hear: (event: WatchEvent) => void,
    { signal }: RequestOptions,
  ): Promise<Outcome<null>> {
    const parameters = selectionQuery(query);
    parameters.set('watch', 'true');
    parameters.set('allowWatchBookmarks', 'true');
    parameters.set('resourceVersion', query.resourceVersion);
    parameters.set('timeoutSeconds', String(query.timeoutSeconds));
    const request = `watch ${resourceName(resource)}`;
    try {
      const path = `${listPath(resource, query.namespace)}?${parameters.toString()}`;
      const response = await this.#transport.open({ method: 'GET', path, signal });
      if (response.statusCode !== 200) {
        const text = await textOfError(response);
        return failureOf(request, response.statusCode ?? 0, jsonOf(text));
      }
      return (await readWatch(response, { resource, request, hear })) ?? succeeded(null);
    } catch (thrown) {
      signal.throwIfAborted();
      return noAnswer(request, thrown);
    }
  }

  create(resource: Resource, object: NewObject, { signal }: RequestOptions): Promise<Outcome<ApiObject>> {
    const { namespace = null, name = object.metadata.generateName ?? '' } = object.metadata;
    const path = listPath(resource, namespace);
    const request = { name: nameOf('create', resource, { namespace, name }), method: 'POST', path, body: JSON.stringify(object) } as const;
    return this.#forObject(resource, request, signal);
  }

  replace(resource: Resource, object: ApiObject, { signal, subresource }: WriteOptions): Promise<Outcome<ApiObject>> {
    const key = keyOf(object);
    const path = objectPath(resource, key, subresource);
    return this.#forObject(resource, { name: nameOf('update', resource, key), method: 'PUT', path, body: JSON.stringify(object) }, signal);
  }

  patch(
    resource: Resource,
    key: ObjectKey,
    fields: Readonly<Record<string, unknown>>,
    { signal, subresource }: WriteOptions,
  ): Promise<Outcome<ApiObject>> {
    const path = objectPath(resource, key, subresource);
    const content = { contentType: MERGE_PATCH, body: JSON.stringify(fields) };
    return this.#forObject(resource, { name: nameOf('patch', resource, key), method: 'PATCH', path, ...content }, signal);
  }

  delete(resource: Resource, key: ObjectKey, { signal, ...deletion }: DeleteOptions): Promise<Outcome<null>> {
    const { graceSeconds, uid, resourceVersion, propagation } = deletion;
    const options = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: graceSeconds,
      preconditions: uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion },
      propagationPolicy: propagation,
    };
    const path = objectPath(resource, key);
    const request = { name: nameOf('delete', resource, key), method: 'DELETE', path, body: JSON.stringify(options) } as const;
    return this.#request(request, signal, () => DONE).then((outcome) => (outcome.ok ? succeeded(null) : outcome));
  }

  evict(pod: ObjectKey, { signal, uid, isDryRun }: EvictOptions): Promise<Outcome<null>> {
    const deleteOptions = { preconditions: { uid }, ...(isDryRun ? { dryRun: ['All'] } : {}) };
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod.name, namespace: pod.namespace }, deleteOptions };
    const path = `${objectPath(PODS, pod, 'eviction')}${isDryRun ? '?dryRun=All' : ''}`;
    const request = { name: nameOf('evict', PODS, pod), method: 'POST', path, body: JSON.stringify(eviction) } as const;
    return this.#request(request, signal, () => DONE).then((outcome) => (outcome.ok ? succeeded(null) : outcome));
  }

  logTail(pod: ObjectKey, { signal, container, lines, mostBytes }: LogOptions): Promise<Outcome<string>> {
    const query = new URLSearchParams({ container, tailLines: String(lines), limitBytes: String(LOG_BYTES) });
    const path = `${objectPath(PODS, pod, 'log')}?${query.toString()}`;
    return this.#request({ name: nameOf('get the log of', PODS, pod), method: 'GET', path }, signal, (body) => body.slice(-mostBytes));
  }

  proxyGet(pod: ObjectKey, { signal, port, path, mostBytes }: ProxyOptions): Promise<Outcome<string>> {
    const place = objectPath(PODS, { ...pod, name: `${pod.name}:${port}` }, 'proxy');
    return this.#request({ name: nameOf('ask', PODS, pod), method: 'GET', path: place + path, mostBytes }, signal, (body) => body);
  }

  #forObject(resource: Resource, request: Named, signal: AbortSignal): Promise<Outcome<ApiObject>> {
    return this.#request(request, signal, (body) => decodeObject(resource, jsonOf(body)));
  }

  async #request<T>({ name, mostBytes, ...request }: Named, signal: AbortSignal, decode: (body: string) => T | null): Promise<Outcome<T>> {
    signal.throwIfAborted();
    await this.#limit.turn({ signal });
    try {
      const { status, body, retryAfterSeconds } = await this.#transport.send({ ...request, signal }, mostBytes);
      if (status < 200 || status > 299) return failureOf(name, status, jsonOf(body), retryAfterSeconds);
      const value = decode(body);
      return value === null ? noAnswer(name, new Error('the answer was not understood')) : succeeded(value);
    } catch (thrown) {
      signal.throwIfAborted();
      return noAnswer(name, thrown);
    }
  }
}

const DONE = 'done';

function nameOf(verb: string, resource: Resource, key: ObjectKey): string {
  return `${verb} ${resourceName(resource)} "${keyText(key)}"`;
}

async function textOfError(response: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const chunk of response) {
    text += String(chunk);
    if (text.length > LOG_BYTES) break;
  }
  return text;
}
