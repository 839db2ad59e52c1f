import { createHash, createHmac } from 'node:crypto';

/** A set of AWS credentials. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
  /** Milliseconds since 1970; null when they do not expire. */
  readonly expiresAt: number | null;
}

/** The request to sign. */
export interface ToSign {
  readonly method: string;
  /** Encoded as sent. */
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  /** Headers with lower-case names; all of them are signed. */
  readonly headers: Readonly<Record<string, string>>;
  /** The SHA-256 of the body in hexadecimal, or a placeholder word. */
  readonly payload: string;
}

/** Where and when a signature is valid. */
export interface Scope {
  readonly region: string;
  readonly service: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/**
 * The payload word of an unhashed body. TLS protects it and the store checks its crc32c, so a hash
 * would only cost time.
 */
export const UNSIGNED_PAYLOAD = 'UNSIGNED-PAYLOAD';
/** The SHA-256 of an empty body. */
export const EMPTY_PAYLOAD = createHash('sha256').digest('hex');

/** Percent-encodes everything but the unreserved characters of RFC 3986, as signatures demand. */
function encodeRfc3986(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Encodes a path for a signed request, segment by segment. */
export function encodePath(path: string): string {
  return path.split('/').map(encodeRfc3986).join('/');
}

/** Encodes a query for a signed request, sorted by name. */
export function encodeQuery(query: ToSign['query']): string {
  return query
    .map(([name, value]) => `${encodeRfc3986(name)}=${encodeRfc3986(value)}`)
    .sort()
    .join('&');
}

/** Returns the headers of a request with an AWS Signature Version 4. */
export function signRequest(request: ToSign, credentials: AwsCredentials, scope: Scope): Record<string, string> {
  const time = new Date(scope.at).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const headers: Record<string, string> = {
    ...request.headers,
    'x-amz-date': time,
    'x-amz-content-sha256': request.payload,
    ...(credentials.sessionToken === null ? {} : { 'x-amz-security-token': credentials.sessionToken }),
  };
  const names = Object.keys(headers).sort();
  const signed = names.join(';');
  const lines = names.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}\n`).join('');
  const canonical = [request.method, request.path, encodeQuery(request.query), lines, signed, request.payload].join('\n');
  const date = time.slice(0, 8);
  const area = `${date}/${scope.region}/${scope.service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, area, createHash('sha256').update(canonical).digest('hex')].join('\n');
  const key = [scope.region, scope.service, 'aws4_request'].reduce(hmac, hmac(`AWS4${credentials.secretAccessKey}`, date));
  const signature = hmac(key, text).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${area}, SignedHeaders=${signed}, Signature=${signature}`;
  return { ...headers, authorization };
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
