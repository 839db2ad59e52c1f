import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isTransientStatus, RequestFailure } from '../failure.ts';
import type { Fresh } from '../fresh.ts';
import type { Body } from '../http/body.ts';
import type { BodySink, HttpClient, HttpResponse } from '../http/client.ts';
import { hostHeader, type Origin } from '../http/origin.ts';
import { type Retrying, withRetries } from '../retry.ts';
import { type AwsCredentials, EMPTY_PAYLOAD, encodePath, encodeQuery, signRequest, UNSIGNED_PAYLOAD } from './sign.ts';
import { xmlText } from './xml.ts';

export interface S3Place {
  readonly bucket: string;
  readonly region: string;
  /** Where the user said the store is; null for AWS itself. */
  readonly endpoint: (Origin & { readonly path: string }) | null;
  /** The bucket stands in the path and not in the name of the host. */
  readonly isPathStyle: boolean;
}

export interface S3Call {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Null for the bucket itself. */
  readonly key: string | null;
  readonly query?: readonly (readonly [string, string])[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Body;
  readonly sink?: BodySink;
  readonly maxBytes?: number;
  readonly expectedBytes?: number;
  /** Before every try. */
  readonly restart?: () => void;
}

export interface S3ClientOptions extends Retrying {
  readonly place: S3Place;
  readonly http: HttpClient;
  readonly credentials: Fresh<AwsCredentials>;
}

/** Most bytes of an answer that is collected: a page of a listing. */
const MAX_ANSWER = 8 * 1024 * 1024;
/** A store in another region, a clock that is off and credentials that ended are put right once each. */
const MAX_CORRECTIONS = 4;

/** Speaks to one bucket: signs, tries again, follows the bucket to its region and the store's clock. */
export class S3Client {
  readonly #options: S3ClientOptions;
  #region: string;
  /** The store's clock less ours. */
  #skewMs = 0;

  constructor(options: S3ClientOptions) {
    this.#options = options;
    this.#region = options.place.region;
  }

  /** Sends until there is an answer that counts; one of status 300 or more is thrown as a {@link RequestFailure}. */
  async call(call: S3Call): Promise<HttpResponse> {
    return withRetries(this.#options, async () => {
      for (let corrections = 0; ; corrections++) {
        const response = await this.#once(call);
        if (response.status < 300) return response;
        const failure = failureOf(response);
        if (call.body?.kind === 'file' && DAMAGED.has(failure.reason)) await call.body.check?.(call.body.offset, call.body.size);
        if (corrections >= MAX_CORRECTIONS || !this.#correct(failure, response.headers)) throw failure;
      }
    });
  }

  async #once(call: S3Call): Promise<HttpResponse> {
    const { place, http, credentials, clock, signal } = this.#options;
    call.restart?.();
    const { origin, path } = this.#address(place, call.key);
    const query = call.query ?? [];
    const { accessKeyId, ...secrets } = await credentials.get();
    const headers = signRequest(
      { method: call.method, path, query, headers: { host: hostHeader(origin), ...call.headers }, payload: payloadOf(call.body) },
      { accessKeyId, ...secrets },
      { region: this.#region, service: 's3', at: clock.now() + this.#skewMs },
    );
    const { body, sink, expectedBytes } = call;
    return http.send(
      {
        method: call.method,
        origin,
        path: query.length === 0 ? path : `${path}?${encodeQuery(query)}`,
        headers: { ...headers, 'user-agent': 'holdfast' },
        maxBytes: call.maxBytes ?? MAX_ANSWER,
        ...(body === undefined ? {} : { body }),
        ...(sink === undefined ? {} : { sink }),
        ...(expectedBytes === undefined ? {} : { expectedBytes }),
      },
      signal,
    );
  }

  #address({ bucket, endpoint, isPathStyle }: S3Place, key: string | null): { readonly origin: Origin; readonly path: string } {
    const suffix = this.#region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
    const base = endpoint ?? { protocol: 'https:' as const, host: `s3.${this.#region}.${suffix}`, port: 443, path: '' };
    const { protocol, port } = base;
    const encoded = key === null ? '' : encodePath(key);
    if (isPathStyle)
      return {
        origin: { protocol, host: base.host, port },
        path: `${base.path}/${encodePath(bucket)}${key === null ? '' : '/'}${encoded}`,
      };
    return { origin: { protocol, host: `${bucket}.${base.host}`, port }, path: `${base.path}/${encoded}` };
  }

  /** Learns from a refusal what was wrong with the request; false when it was nothing that can be learned. */
  #correct({ reason, status }: RequestFailure, headers: IncomingHttpHeaders): boolean {
    const region = headers['x-amz-bucket-region'];
    if (typeof region === 'string' && [301, 307, 400].includes(status) && region !== this.#region && /^[a-z0-9-]{1,40}$/.test(region)) {
      this.#region = region;
      return true;
    }
    const isSkewed = reason === 'RequestTimeTooSkewed' || reason === 'RequestExpired';
    const theirs = Date.parse(headers.date ?? '');
    if (isSkewed && Number.isFinite(theirs) && this.#skewMs === 0) {
      this.#skewMs = theirs - this.#options.clock.now();
      return true;
    }
    if (reason === 'ExpiredToken' || reason === 'TokenRefreshRequired') {
      this.#options.credentials.discard();
      return true;
    }
    return false;
  }
}

/** Small bodies are hashed into the signature; file parts are not, their crc32c is. */
function payloadOf(body: Body | undefined): string {
  if (body === undefined) return EMPTY_PAYLOAD;
  return body.kind === 'bytes' ? createHash('sha256').update(body.data).digest('hex') : UNSIGNED_PAYLOAD;
}

/** Codes that come with a status that would count as final, and yet pass. */
const PASSING = new Set([
  'RequestTimeout',
  'SlowDown',
  'OperationAborted',
  'ConditionalRequestConflict',
  'InternalError',
  'ServiceUnavailable',
]);
/** The bytes were changed on the way; sending them again is right as long as it is bounded. */
const DAMAGED = new Set(['BadDigest', 'InvalidDigest', 'XAmzContentChecksumMismatch', 'XAmzContentSHA256Mismatch', 'IncompleteBody']);

export function failureOf({ status, headers, body }: HttpResponse): RequestFailure {
  const xml = body.toString('utf8');
  const reason = xmlText(xml, 'Code') ?? `HTTP ${status}`;
  const seconds = Number(headers['retry-after']);
  return new RequestFailure({
    message: xmlText(xml, 'Message') ?? `the store answered ${status}`,
    status,
    reason,
    retryAfter: Number.isFinite(seconds) && seconds >= 0 ? seconds : null,
    isTransient: isTransientStatus(status) || PASSING.has(reason) || DAMAGED.has(reason),
  });
}
