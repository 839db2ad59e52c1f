import type { Clock } from '../../core/clock.ts';
import type { Rng } from '../../core/rng.ts';
import { Redactor } from '../../core/secrets.ts';
import { createHttpClient } from '../http/http-client.ts';
import { createRoutes, type Env } from '../http/connect.ts';
import { type Caller, callService, type ServiceCall } from '../http/json-http.ts';
import { RequestFailure } from '../transfer/failure.ts';
import { DEFAULT_RETRIES } from '../transfer/retry.ts';

/** A metadata service answers at once, or this machine is not in that cloud. */
const DEADLINE_MS = 1000;
const WHO = 'the metadata service';

/** What the questions need from the command. */
export interface RegionWorld {
  readonly env: Env;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly signal: AbortSignal;
}

/**
 * The region of this machine, from the metadata service of Google Cloud or AWS; null where neither
 * answers. Both are asked at once, and never through a proxy.
 */
export async function findNodeRegion({ env, clock, rng, signal }: RegionWorld): Promise<string | null> {
  const routes = createRoutes({});
  const policy = { ...DEFAULT_RETRIES, attempts: 1 };
  const caller: Caller = { http: createHttpClient(routes, clock), clock, rng, signal, policy, redactor: new Redactor() };
  try {
    const answers = await Promise.all([unlessAbsent(googleRegion(env, caller)), unlessAbsent(awsRegion(env, caller))]);
    return answers.find((region) => region !== null && /^[a-z0-9-]{1,40}$/.test(region)) ?? null;
  } finally {
    routes.close();
  }
}

/** `projects/1/zones/us-central1-a` is a zone of `us-central1`. */
async function googleRegion(env: Env, caller: Caller): Promise<string> {
  const host = env['GCE_METADATA_HOST'] ?? 'metadata.google.internal';
  const url = `http://${host}/computeMetadata/v1/instance/zone`;
  const zone = await ask(caller, { method: 'GET', url, headers: { 'metadata-flavor': 'Google' } });
  return (zone.split('/').at(-1) ?? '').replace(/-[a-z]$/, '');
}

async function awsRegion(env: Env, caller: Caller): Promise<string | null> {
  if ((env['AWS_EC2_METADATA_DISABLED'] ?? '').toLowerCase() === 'true') return null;
  const base = `${(env['AWS_EC2_METADATA_SERVICE_ENDPOINT'] ?? 'http://169.254.169.254').replace(/\/$/, '')}/latest`;
  const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': '60' };
  const token = await ask(caller, { method: 'PUT', url: `${base}/api/token`, headers: ttl });
  const headers = { 'x-aws-ec2-metadata-token': token };
  return ask(caller, { method: 'GET', url: `${base}/meta-data/placement/region`, headers });
}

async function ask(caller: Caller, call: Omit<ServiceCall, 'who' | 'deadlineMs'>): Promise<string> {
  return (await callService(caller, { ...call, who: WHO, deadlineMs: DEADLINE_MS })).trim();
}

async function unlessAbsent(answer: Promise<string | null>): Promise<string | null> {
  try {
    return await answer;
  } catch (thrown) {
    if (thrown instanceof RequestFailure) return null;
    throw thrown;
  }
}
