import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isTransientStatus, RequestFailure } from '../../transfer/failure.ts';
import type { Expiring } from '../../credentials/expiring.ts';
import type { Body } from '../../http/body.ts';
import type { BodySink, HttpClient, HttpResponse } from '../../http/http-client.ts';
import { hostHeader, type Origin } from '../../http/origin.ts';
import { type Retrying, withRetries } from '../../transfer/retry.ts';
import { type AwsCredentials, EMPTY_PAYLOAD, encodePath, encodeQuery, signRequest, UNSIGNED_PAYLOAD } from '../../credentials/aws-sign.ts';
import { xmlText } from '../../http/xml.ts';

/** Where a bucket is and how to reach it. */
export interface S3Place {
  readonly bucket: string;
  readonly region: string;
  /** The endpoint that the user set; null for AWS itself. */
  readonly endpoint: (Origin & { readonly path: string }) | null;
  /** Whether the bucket is in the path instead of the host name. */
  readonly isPathStyle: boolean;
}

/** One request to S3. */
export interface S3Call {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** The key; null for the bucket itself. */
  readonly key: string | null;
  readonly query?: readonly (readonly [string, string])[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Body;
  readonly sink?: BodySink;
  readonly maxBytes?: number;
  readonly expectedBytes?: number;
  /** Called before every try. */
  readonly restart?: () => void;
}

/** What the S3 client needs. */
export interface S3ClientOptions extends Retrying {
  readonly place: S3Place;
  readonly http: HttpClient;
  readonly credentials: Expiring<AwsCredentials>;
}

/** The most bytes of an answer in memory: a page of a listing. */
const MAX_ANSWER = 8 * 1024 * 1024;
/** The client corrects a wrong region, a wrong clock and expired credentials once each. */
const MAX_CORRECTIONS = 4;

/** Calls one bucket: signs, retries, and follows the bucket's region and the store's clock. */
export class S3Client {
  readonly #options: S3ClientOptions;
  #region: string;
  /** The store's clock minus ours. */
  #skewMs = 0;

  constructor(options: S3ClientOptions) {
    this.#options = options;
    this.#region = options.place.region;
  }

  /** Sends until an answer counts; throws a {@link RequestFailure} for a status of 300 or more. */
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

  /** Corrects the client after a refusal; false when the refusal shows nothing to correct. */
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

/**
 * The payload to sign. Small bodies are hashed; file parts are not, because the store checks their
 * crc32c.
 */
function payloadOf(body: Body | undefined): string {
  if (body === undefined) return EMPTY_PAYLOAD;
  return body.kind === 'bytes' ? createHash('sha256').update(body.data).digest('hex') : UNSIGNED_PAYLOAD;
}

/** Errors that may pass, although their status looks final. */
const PASSING = new Set([
  'RequestTimeout',
  'SlowDown',
  'OperationAborted',
  'ConditionalRequestConflict',
  'InternalError',
  'ServiceUnavailable',
]);
/** The bytes changed on the way. A bounded number of retries is right. */
const DAMAGED = new Set(['BadDigest', 'InvalidDigest', 'XAmzContentChecksumMismatch', 'XAmzContentSHA256Mismatch', 'IncompleteBody']);

/** Turns an error answer of S3 into a failure. */
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
