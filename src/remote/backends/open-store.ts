import type { Clock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { excerpt } from '../../core/printable.ts';
import type { Rng } from '../../core/rng.ts';
import { isSecretName } from '../../core/secret-patterns.ts';
import { Redactor } from '../../core/secrets.ts';
import { findAwsCredentials } from '../credentials/aws-credentials.ts';
import { readProfile } from '../credentials/aws-profile.ts';
import type { ObjectStore, UploadMemory } from './backend.ts';
import { DirectoryStore } from './directory/directory-store.ts';
import { keepUnexpired } from '../credentials/expiring.ts';
import { GcsClient } from './gcs/gcs-client.ts';
import { findGoogleToken } from '../credentials/gcs-credentials.ts';
import { GcsStore } from './gcs/gcs-store.ts';
import { createHttpClient, type Deadlines } from '../http/http-client.ts';
import { createRoutes, type Env } from '../http/connect.ts';
import { type Origin, parseOrigin } from '../http/origin.ts';
import type { RangeThreads } from '../http/ranges/threads.ts';
import type { Location } from './location.ts';
import { remoteError } from './remote-error.ts';
import { DEFAULT_RETRIES, type OnRetry, type RetryPolicy } from '../transfer/retry.ts';
import { S3Client } from './s3/s3-client.ts';
import { S3Store } from './s3/s3-store.ts';

/** What a store needs from the command that opens it. */
export interface StoreOptions {
  readonly env: Env;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly signal: AbortSignal;
  readonly memory: UploadMemory;
  readonly endpoint?: string | null;
  readonly region?: string | null;
  readonly profile?: string | null;
  readonly isPathStyle?: boolean;
  readonly retries?: RetryPolicy;
  readonly onRetry?: OnRetry | undefined;
  readonly deadlines?: Deadlines;
  /** Threads that the command started early; the store owns them from here on. */
  readonly ranges?: RangeThreads | undefined;
}

/**
 * Opens the store of an address. Finds settings and credentials as the tools of its cloud do. Sends
 * no request yet.
 */
export function openStore(location: Location, options: StoreOptions): ObjectStore {
  switch (location.kind) {
    case 'file':
      return new DirectoryStore({ url: location.url, path: location.path, clock: options.clock, signal: options.signal });
    case 's3':
      return openS3(location, options);
    case 'gs':
      return openGcs(location, options);
  }
}

type BucketLocation = Location & { readonly kind: 's3' | 'gs' };

function connection({ env, clock, rng, signal, retries, onRetry, deadlines, ranges }: StoreOptions) {
  const routes = createRoutes(env, ranges);
  const http = createHttpClient(routes, clock, deadlines);
  const redactor = new Redactor();
  for (const [name, value] of Object.entries(env)) if (isSecretName(name)) redactor.know(value);
  return { close: () => routes.close(), caller: { http, clock, rng, signal, policy: retries ?? DEFAULT_RETRIES, onRetry, redactor } };
}

/** The region for the first request to an unknown bucket; the answer names the real one. */
const DEFAULT_REGION = 'us-east-1';

interface S3Settings {
  readonly region: string;
  readonly endpoint: (Origin & { readonly path: string }) | null;
  readonly isPathStyle: boolean;
}

/** Reads the settings: the command line, then the environment, then the profile. */
function s3Settings(bucket: string, { env, ...options }: StoreOptions, settings: ReadonlyMap<string, string>): S3Settings {
  const region = options.region ?? env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? settings.get('region') ?? DEFAULT_REGION;
  const address = options.endpoint ?? env['AWS_ENDPOINT_URL_S3'] ?? env['AWS_ENDPOINT_URL'] ?? settings.get('endpoint_url') ?? '';
  const endpoint = address === '' ? null : parseEndpoint(address);
  const style = options.isPathStyle === true ? 'path' : (settings.get('s3.addressing_style') ?? 'auto');
  return { region, endpoint, isPathStyle: isPathStyle(style, bucket, endpoint !== null) };
}

/**
 * A dot in a bucket's name does not match the certificate of *.s3.amazonaws.com. Private stores
 * rarely have host names for buckets.
 */
function isPathStyle(style: string, bucket: string, isOwn: boolean): boolean {
  return style === 'path' || (style !== 'virtual' && (isOwn || bucket.includes('.')));
}

/** Reads the number of tries from the AWS setting; ignores anything but a number from 1. */
function maxAttempts(text: string): { readonly attempts?: number } {
  return /^[1-9]\d{0,2}$/.test(text) ? { attempts: Number(text) } : {};
}

function openS3({ url, bucket, prefix }: BucketLocation, options: StoreOptions): ObjectStore {
  const { env } = options;
  const profile = readProfile(env, options.profile ?? null);
  const place = { bucket, ...s3Settings(bucket, options, profile.settings) };
  const { region } = place;
  const attempts = maxAttempts(env['AWS_MAX_ATTEMPTS'] ?? profile.settings.get('max_attempts') ?? '');
  const { close, caller } = connection({ ...options, retries: { ...(options.retries ?? DEFAULT_RETRIES), ...attempts } });
  const isExplicit = (options.profile ?? null) !== null;
  const credentials = keepUnexpired(options.clock, async () => {
    try {
      const found = await findAwsCredentials({ env, profile, isExplicit, region }, caller);
      caller.redactor.know(found.secretAccessKey);
      caller.redactor.know(found.sessionToken);
      return found;
    } catch (thrown) {
      throw remoteError(thrown, 'get credentials for', url);
    }
  });
  return new S3Store(new S3Client({ ...caller, place, credentials }), {
    url,
    prefix,
    clock: options.clock,
    close,
  });
}

function openGcs({ url, bucket, prefix }: BucketLocation, options: StoreOptions): ObjectStore {
  const { env, clock, memory } = options;
  const emulator = env['STORAGE_EMULATOR_HOST'] ?? '';
  const address =
    options.endpoint ?? (emulator === '' ? 'https://storage.googleapis.com' : emulator.includes('://') ? emulator : `http://${emulator}`);
  const endpoint = parseEndpoint(address);
  const { close, caller } = connection(options);
  const token = keepUnexpired(clock, async () => {
    try {
      const found = await findGoogleToken(env, caller);
      caller.redactor.know(found.token);
      return found;
    } catch (thrown) {
      throw remoteError(thrown, 'get credentials for', url);
    }
  });
  // Only an emulator uses plain HTTP, and it asks for no token. A real token must never travel over
  // plain HTTP.
  const isEmulated = endpoint.protocol === 'http:';
  return new GcsStore(new GcsClient({ ...caller, endpoint, token: isEmulated ? null : token }), { url, bucket, prefix, memory, close });
}

function parseEndpoint(text: string): Origin & { readonly path: string } {
  const origin = parseOrigin(text);
  if (origin === null || text.includes('@')) {
    throw new HoldfastError('SETTING_INVALID', {
      message: `the endpoint "${text.includes('@') ? '(with credentials in it)' : excerpt(text)}" is not the address of a server`,
      hint: 'It looks like https://minio.example:9000: http or https, without a user.',
    });
  }
  return { ...origin, path: new URL(text).pathname.replace(/\/+$/, '') };
}
