import { isObject, type JsonObject, parseJson } from '../../../core/json.ts';
import { isTransientStatus, RequestFailure } from '../../transfer/failure.ts';
import type { Expiring } from '../../credentials/expiring.ts';
import type { Body } from '../../http/body.ts';
import type { BodySink, HttpClient, HttpResponse } from '../../http/http-client.ts';
import type { Origin } from '../../http/origin.ts';
import { type Retrying, withRetries } from '../../transfer/retry.ts';
import type { AccessToken } from '../../credentials/gcs-credentials.ts';

/** One request to Google Cloud Storage. */
export interface GcsCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path and query, encoded. */
  readonly path: string;
  /**
   * Another host than the endpoint: the address of an upload in progress, which needs no
   * credentials.
   */
  readonly origin?: Origin;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Body;
  readonly sink?: BodySink;
  readonly maxBytes?: number;
  readonly expectedBytes?: number;
  readonly restart?: () => void;
  /** Statuses beyond 2xx that count as answers. */
  readonly accept?: readonly number[];
}

/** What the client of Google Cloud Storage needs. */
export interface GcsClientOptions extends Retrying {
  readonly endpoint: Origin;
  readonly http: HttpClient;
  /** The token; null for an emulator, which asks for none. */
  readonly token: Expiring<AccessToken> | null;
}

const MAX_ANSWER = 8 * 1024 * 1024;

/** Calls the JSON API of Google Cloud Storage. */
export class GcsClient {
  readonly options: GcsClientOptions;

  constructor(options: GcsClientOptions) {
    this.options = options;
  }

  /** Retries until an answer counts; throws a {@link RequestFailure} otherwise. */
  async call(call: GcsCall): Promise<HttpResponse> {
    return withRetries(this.options, () => this.once(call));
  }

  /** Sends one try; renews a token once that the store refuses early. */
  async once(call: GcsCall): Promise<HttpResponse> {
    const response = await this.#send(call);
    if (response.status === 401 && this.options.token !== null && call.origin === undefined) {
      this.options.token.discard();
      return accepted(await this.#send(call), call);
    }
    return accepted(response, call);
  }

  async #send({ method, path, origin, headers, body, sink, maxBytes, expectedBytes, restart }: GcsCall): Promise<HttpResponse> {
    const { endpoint, http, token, signal } = this.options;
    restart?.();
    const authorization = token === null || origin !== undefined ? null : `Bearer ${(await token.get()).token}`;
    return http.send(
      {
        method,
        origin: origin ?? endpoint,
        path,
        headers: { 'user-agent': 'holdfast', ...headers, ...(authorization === null ? {} : { authorization }) },
        maxBytes: maxBytes ?? MAX_ANSWER,
        ...(body === undefined ? {} : { body }),
        ...(sink === undefined ? {} : { sink }),
        ...(expectedBytes === undefined ? {} : { expectedBytes }),
      },
      signal,
    );
  }
}

function accepted(response: HttpResponse, { accept = [] }: GcsCall): HttpResponse {
  if (response.status < 300 || accept.includes(response.status)) return response;
  throw failureOf(response);
}

function failureOf({ status, headers, body }: HttpResponse): RequestFailure {
  const error = jsonOf(body)?.['error'];
  const message = isObject(error) && typeof error['message'] === 'string' ? error['message'] : `the store answered ${status}`;
  const seconds = Number(headers['retry-after']);
  return new RequestFailure({
    message,
    status,
    reason: `HTTP ${status}`,
    retryAfter: Number.isFinite(seconds) && seconds >= 0 ? seconds : null,
    isTransient: isTransientStatus(status),
  });
}

/** Parses the object in an answer; null when there is none. */
export function jsonOf(body: Buffer): JsonObject | null {
  const json = parseJson(body.toString('utf8'));
  return json.ok && isObject(json.value) ? json.value : null;
}
