import { createSign } from 'node:crypto';
import { join } from 'node:path';
import { HoldfastError, systemCode } from '../../core/errors.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import { excerpt, printable } from '../../core/printable.ts';
import { readRegularFile, whyUnreadable } from '../../core/read-regular.ts';
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.ts';
import { assertSendable, readSecretFile, timeOf } from './aws-credentials.ts';
import { homeOf } from './aws-profile.ts';
import { RequestFailure } from '../transfer/failure.ts';
import type { Env } from '../http/connect.ts';
import { type Caller, callForJson } from '../http/json-http.ts';

/** An access token of Google and its expiry. */
export interface AccessToken {
  readonly token: string;
  readonly expiresAt: number | null;
}

const SCOPE = 'https://www.googleapis.com/auth/devstorage.read_write';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const METADATA_DEADLINE_MS = 3000;

/**
 * Finds application default credentials: the named file, gcloud's file, then the metadata server.
 */
export async function findGoogleToken(env: Env, caller: Caller): Promise<AccessToken> {
  const named = env['GOOGLE_APPLICATION_CREDENTIALS'] ?? '';
  const usual = join(env['CLOUDSDK_CONFIG'] ?? join(homeOf(env), '.config', 'gcloud'), 'application_default_credentials.json');
  const file = named === '' ? usual : named;
  const text = readText(file, named !== '');
  if (text === null) return fromMetadata(env, caller);
  const json = parseJson(text);
  if (!json.ok || !isObject(json.value)) throw invalid(file, 'is not a JSON object');
  return fromFile(json.value, file, caller);
}

function readText(file: string, isNamed: boolean): string | null {
  try {
    return readRegularFile(file, LIMITS.settingsBytes).toString('utf8');
  } catch (thrown) {
    if (!isNamed && (systemCode(thrown) === 'ENOENT' || systemCode(thrown) === 'ENOTDIR')) return null;
    throw invalid(file, `cannot be read: ${whyUnreadable(thrown)}`);
  }
}

async function fromFile(content: JsonObject, file: string, caller: Caller): Promise<AccessToken> {
  const { type } = content;
  if (type === 'service_account') return fromServiceAccount(content, file, caller);
  if (type === 'authorized_user') return fromUser(content, file, caller);
  if (type === 'external_account') return fromFederation(content, file, caller);
  throw invalid(
    file,
    `has the type "${typeof type === 'string' ? excerpt(type, 40) : ''}", not service_account, authorized_user or external_account`,
  );
}

/** Exchanges an assertion, signed with a service account's key, for a token. */
async function fromServiceAccount(content: JsonObject, file: string, caller: Caller): Promise<AccessToken> {
  const issuer = field(content, 'client_email', file);
  const audience = typeof content['token_uri'] === 'string' ? content['token_uri'] : 'https://oauth2.googleapis.com/token';
  const now = Math.floor(caller.clock.now() / 1000);
  const claims = { iss: issuer, scope: SCOPE, aud: audience, iat: now, exp: now + 3600 };
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${encode({ alg: 'RS256', typ: 'JWT', ...(typeof content['private_key_id'] === 'string' ? { kid: content['private_key_id'] } : {}) })}.${encode(claims)}`;
  let signature: string;
  try {
    signature = createSign('RSA-SHA256')
      .update(text)
      .sign(field(content, 'private_key', file), 'base64url');
  } catch {
    // The reason could quote the key.
    throw invalid(file, 'has an invalid private_key');
  }
  const body = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: `${text}.${signature}` });
  return ask(caller, { url: audience, headers: FORM, body: body.toString(), who: 'the Google token service' });
}

/** Uses the credentials that `gcloud auth application-default login` stored. */
async function fromUser(content: JsonObject, file: string, caller: Caller): Promise<AccessToken> {
  const body = new URLSearchParams({
    grant_type: 'refresh_token',
    client_id: field(content, 'client_id', file),
    client_secret: field(content, 'client_secret', file),
    refresh_token: field(content, 'refresh_token', file),
  });
  const url = typeof content['token_uri'] === 'string' ? content['token_uri'] : 'https://oauth2.googleapis.com/token';
  return ask(caller, { url, headers: FORM, body: body.toString(), who: 'the Google token service' });
}

/**
 * Workload identity federation: exchanges another provider's token from a file for one of Google's.
 */
async function fromFederation(content: JsonObject, file: string, caller: Caller): Promise<AccessToken> {
  const source = content['credential_source'];
  const path = isObject(source) ? source['file'] : undefined;
  if (!isObject(source) || typeof path !== 'string')
    throw invalid(file, 'has a credential_source that is not a file; Holdfast supports only files');
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    scope: 'https://www.googleapis.com/auth/cloud-platform',
    audience: field(content, 'audience', file),
    subject_token_type: field(content, 'subject_token_type', file),
    subject_token: subjectToken(readSecretFile(path, 'credential_source.file'), source['format'], path),
  });
  const url = field(content, 'token_url', file);
  const federated = await ask(caller, { url, headers: FORM, body: body.toString(), who: 'the Google token exchange' });
  const impersonate = content['service_account_impersonation_url'];
  if (typeof impersonate !== 'string') return federated;
  const answer = await callForJson(caller, {
    method: 'POST',
    url: impersonate,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${federated.token}` },
    body: JSON.stringify({ scope: [SCOPE] }),
    who: 'the Google service account impersonation',
  });
  const expires = timeOf(answer['expireTime']);
  return {
    token: tokenOf(answer['accessToken'], 'the Google service account impersonation'),
    expiresAt: Number.isFinite(expires) ? expires : null,
  };
}

/** The subject token: the file's text, or a field of its JSON. */
function subjectToken(content: string, format: Json | undefined, path: string): string {
  if (!isObject(format) || format['type'] !== 'json') return content;
  const name = format['subject_token_field_name'];
  const json = parseJson(content);
  const value = json.ok && isObject(json.value) && typeof name === 'string' ? json.value[name] : undefined;
  if (typeof value !== 'string')
    throw invalid(path, `has no field ${typeof name === 'string' ? excerpt(name, 40) : 'named by subject_token_field_name'}`);
  return value;
}

async function fromMetadata(env: Env, caller: Caller): Promise<AccessToken> {
  const host = env['GCE_METADATA_HOST'] ?? 'metadata.google.internal';
  const brief = { ...caller, policy: { ...caller.policy, attempts: 2 } };
  const url = `http://${host}/computeMetadata/v1/instance/service-accounts/default/token`;
  try {
    const headers = { 'metadata-flavor': 'Google' };
    return await ask(brief, { method: 'GET', url, headers, who: 'the metadata server', deadlineMs: METADATA_DEADLINE_MS });
  } catch (thrown) {
    if (!(thrown instanceof RequestFailure)) throw thrown;
    throw new HoldfastError('CREDENTIALS_MISSING', {
      message:
        'no Google credentials were found: GOOGLE_APPLICATION_CREDENTIALS is not set, gcloud left no file, and no metadata server gave any',
      hint: 'Set GOOGLE_APPLICATION_CREDENTIALS to a file, run `gcloud auth application-default login`, or give the machine a service account.',
      cause: thrown,
    });
  }
}

interface Question {
  readonly method?: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly who: string;
  readonly deadlineMs?: number;
}

async function ask(caller: Caller, question: Question): Promise<AccessToken> {
  const answer = await callForJson(caller, { method: 'POST', ...question });
  const seconds = Number(answer['expires_in']);
  return {
    token: tokenOf(answer['access_token'], question.who),
    expiresAt: Number.isFinite(seconds) ? caller.clock.now() + seconds * 1000 : null,
  };
}

function tokenOf(value: Json | undefined, who: string): string {
  if (typeof value === 'string' && value !== '') {
    assertSendable(`the token of ${who}`, value);
    return value;
  }
  throw new HoldfastError('CREDENTIALS_MISSING', { message: `${who} answered without a token` });
}

function field(content: JsonObject, name: string, file: string): string {
  const value = content[name];
  if (typeof value === 'string' && value !== '') return value;
  throw invalid(file, `has no ${name}`);
}

function invalid(file: string, problem: string): HoldfastError {
  return new HoldfastError('SETTING_INVALID', {
    message: `the Google credentials file ${printable(file)} ${problem}`,
    hint: 'Create it again with `gcloud`, or point GOOGLE_APPLICATION_CREDENTIALS elsewhere.',
  });
}
