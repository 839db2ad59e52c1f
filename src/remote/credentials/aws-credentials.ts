import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import { printable } from '../../core/printable.ts';
import { readRegularFile, whyUnreadable } from '../../core/read-regular.ts';
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.ts';
import { RequestFailure } from '../transfer/failure.ts';
import type { Env } from '../http/connect.ts';
import { type Caller, callForJson, callService } from '../http/json-http.ts';
import type { AwsCredentials } from './aws-sign.ts';
import { xmlText } from '../http/xml.ts';
import { type AwsProfile, homeOf } from './aws-profile.ts';

/** Where to look for AWS credentials. */
export interface CredentialSources {
  readonly env: Env;
  readonly profile: AwsProfile;
  /**
   * Whether the command line named the profile. If so, the environment's keys and web identity do
   * not count.
   */
  readonly isExplicit: boolean;
  readonly region: string;
}

/** A source of credentials; null when it does not apply. */
type Source = (sources: CredentialSources, caller: Caller) => Promise<AwsCredentials | null>;

/** Finds credentials in the same order as every AWS tool: the first source that applies wins. */
export async function findAwsCredentials(sources: CredentialSources, caller: Caller): Promise<AwsCredentials> {
  const order: readonly Source[] = [fromEnvironment, fromWebIdentity, fromSso, fromProfile, fromContainer, fromInstance];
  for (const source of order) {
    const found = await source(sources, caller);
    if (found !== null) return sendable(found);
  }
  throw new HoldfastError('CREDENTIALS_MISSING', {
    message:
      'no AWS credentials were found: not in the environment, the shared files, a web identity, a container or the instance’s metadata',
    hint: 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, choose a profile with AWS_PROFILE, or give the pod or the machine a role.',
  });
}

const fromEnvironment: Source = async ({ env, isExplicit }) => {
  const [id, secret] = [env['AWS_ACCESS_KEY_ID'] ?? '', env['AWS_SECRET_ACCESS_KEY'] ?? ''];
  if (isExplicit || id === '') return null;
  if (secret === '') throw incomplete('AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not');
  const token = env['AWS_SESSION_TOKEN'] ?? '';
  return { accessKeyId: id, secretAccessKey: secret, sessionToken: token === '' ? null : token, expiresAt: null };
};

const fromProfile: Source = async ({ profile: { name, settings } }) => {
  const id = settings.get('aws_access_key_id');
  if (id === undefined) return refuseUnsupported(name, settings);
  const secret = settings.get('aws_secret_access_key');
  if (secret === undefined) throw incomplete(`the AWS profile "${printable(name)}" has a key id, but no aws_secret_access_key`);
  return { accessKeyId: id, secretAccessKey: secret, sessionToken: settings.get('aws_session_token') ?? null, expiresAt: null };
};

/**
 * Refuses a profile whose settings ask for something else, instead of silently using the machine's
 * role.
 */
function refuseUnsupported(name: string, settings: ReadonlyMap<string, string>): null {
  const unsupported = ['credential_process', 'source_profile', 'credential_source'].find((setting) => settings.has(setting));
  if (unsupported === undefined) return null;
  throw new HoldfastError('CREDENTIALS_MISSING', {
    message: `the AWS profile "${printable(name)}" uses ${unsupported}, which Holdfast does not follow`,
    hint: `Let the AWS command line resolve it: eval "$(aws configure export-credentials --profile ${printable(name)} --format env)"`,
  });
}

/**
 * A token in a file that gives a role: Kubernetes gives one to a pod with a service account on EKS.
 */
const fromWebIdentity: Source = async ({ env, isExplicit, profile: { settings }, region }, caller) => {
  // Every pod with a service account has these variables. They must not override an explicit
  // profile.
  const given: Env = isExplicit ? {} : env;
  const file = given['AWS_WEB_IDENTITY_TOKEN_FILE'] ?? settings.get('web_identity_token_file') ?? '';
  const role = given['AWS_ROLE_ARN'] ?? settings.get('role_arn') ?? '';
  if (file === '' || role === '') return null;
  const session = given['AWS_ROLE_SESSION_NAME'] ?? settings.get('role_session_name') ?? `holdfast-${caller.clock.now()}`;
  const url = env['AWS_ENDPOINT_URL_STS'] ?? `https://sts.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  const form = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: session,
    WebIdentityToken: readSecretFile(file, 'AWS_WEB_IDENTITY_TOKEN_FILE'),
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const who = 'the AWS token service (AssumeRoleWithWebIdentity)';
  const xml = await callService(caller, { method: 'POST', url: `${url.replace(/\/$/, '')}/`, headers, body: form.toString(), who });
  return fromXml(xml, who);
};

function fromXml(xml: string, who: string): AwsCredentials {
  return complete({
    id: xmlText(xml, 'AccessKeyId'),
    secret: xmlText(xml, 'SecretAccessKey'),
    token: xmlText(xml, 'SessionToken'),
    expires: Date.parse(xmlText(xml, 'Expiration') ?? ''),
    who,
  });
}

/** What `aws sso login` left in its cache; Holdfast exchanges the token but does not log in. */
const fromSso: Source = async ({ env, profile: { name, settings, ssoSession } }, caller) => {
  const wanted = { account: settings.get('sso_account_id'), role: settings.get('sso_role_name') };
  const start = ssoSession?.get('sso_start_url') ?? settings.get('sso_start_url');
  const region = ssoSession?.get('sso_region') ?? settings.get('sso_region');
  if (wanted.account === undefined || wanted.role === undefined || start === undefined || region === undefined) return null;
  const token = readSsoToken(env, settings.get('sso_session') ?? start, caller.clock.now(), name);
  const portal = env['AWS_ENDPOINT_URL_SSO'] ?? `https://portal.sso.${region}.amazonaws.com`;
  const query = new URLSearchParams({ role_name: wanted.role, account_id: wanted.account });
  const who = 'the AWS single sign-on portal';
  const headers = { 'x-amz-sso_bearer_token': token };
  const answer = await callForJson(caller, { method: 'GET', url: `${portal}/federation/credentials?${query.toString()}`, headers, who });
  const given = isObject(answer['roleCredentials']) ? answer['roleCredentials'] : {};
  const expires = Number(given['expiration']);
  return complete({ id: given['accessKeyId'], secret: given['secretAccessKey'], token: given['sessionToken'], expires, who });
};

/** Reads the token of a session by its name, or by its address in older files. */
function readSsoToken(env: Env, session: string, now: number, profile: string): string {
  const hint = `aws sso login --profile ${printable(profile)}`;
  const key = createHash('sha1').update(session).digest('hex');
  const cached = readJsonFile(join(homeOf(env), '.aws', 'sso', 'cache', `${key}.json`));
  const token = cached?.['accessToken'];
  if (typeof token !== 'string') throw new HoldfastError('CREDENTIALS_MISSING', { message: 'there is no single sign-on session', hint });
  if (timeOf(cached?.['expiresAt']) < now) {
    throw new HoldfastError('CREDENTIALS_REFUSED', { message: 'the single sign-on session has ended', hint });
  }
  return token;
}

/** The credentials of ECS tasks and EKS pod identity. */
const fromContainer: Source = async ({ env }, caller) => {
  const relative = env['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'] ?? '';
  const url = relative === '' ? (env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] ?? '') : `http://169.254.170.2${relative}`;
  if (url === '') return null;
  const file = env['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'] ?? '';
  const token =
    file === '' ? (env['AWS_CONTAINER_AUTHORIZATION_TOKEN'] ?? '') : readSecretFile(file, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE');
  assertSendable('AWS_CONTAINER_AUTHORIZATION_TOKEN', token.replaceAll(' ', ''));
  const who = 'the container’s credentials endpoint';
  const headers: Record<string, string> = token === '' ? {} : { authorization: token };
  return fromMetadata(await callForJson(caller, { method: 'GET', url, headers, who }), who);
};

/** How often to try the metadata service, which answers only on an EC2 instance. */
const METADATA_TRIES = 2;
const METADATA_DEADLINE_MS = 2000;

/** The role of an EC2 instance, from version 2 of its metadata service. */
const fromInstance: Source = async ({ env }, caller) => {
  if ((env['AWS_EC2_METADATA_DISABLED'] ?? '').toLowerCase() === 'true') return null;
  const base = `${(env['AWS_EC2_METADATA_SERVICE_ENDPOINT'] ?? 'http://169.254.169.254').replace(/\/$/, '')}/latest`;
  const who = 'the instance’s metadata service';
  const brief = { ...caller, policy: { ...caller.policy, attempts: METADATA_TRIES } };
  try {
    const brisk = { deadlineMs: METADATA_DEADLINE_MS, who };
    const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': '21600' };
    const token = await callService(brief, { method: 'PUT', url: `${base}/api/token`, headers: ttl, ...brisk });
    const headers = { 'x-aws-ec2-metadata-token': token };
    const url = `${base}/meta-data/iam/security-credentials/`;
    const role = (await callService(brief, { method: 'GET', url, headers, ...brisk })).trim().split('\n')[0] ?? '';
    return fromMetadata(await callForJson(brief, { method: 'GET', url: `${url}${encodeURIComponent(role)}`, headers, ...brisk }), who);
  } catch (thrown) {
    // Not an instance, or one without a role: the search ends here.
    if (thrown instanceof RequestFailure) return null;
    throw thrown;
  }
};

function fromMetadata(answer: JsonObject, who: string): AwsCredentials {
  const expires = timeOf(answer['Expiration']);
  return complete({ id: answer['AccessKeyId'], secret: answer['SecretAccessKey'], token: answer['Token'], expires, who });
}

function complete(given: { id: unknown; secret: unknown; token: unknown; expires: number; who: string }): AwsCredentials {
  const { id, secret, token, expires, who } = given;
  if (typeof id !== 'string' || typeof secret !== 'string') throw incomplete(`${who} answered without credentials`);
  return {
    accessKeyId: id,
    secretAccessKey: secret,
    sessionToken: typeof token === 'string' ? token : null,
    expiresAt: Number.isFinite(expires) ? expires : null,
  };
}

/** A header cannot carry a line break, and a copied secret often ends with one. */
function sendable(found: AwsCredentials): AwsCredentials {
  assertSendable('AWS_ACCESS_KEY_ID', found.accessKeyId);
  assertSendable('AWS_SECRET_ACCESS_KEY', found.secretAccessKey);
  if (found.sessionToken !== null) assertSendable('AWS_SESSION_TOKEN', found.sessionToken);
  return found;
}

/** Refuses a credential with an invalid character, without quoting it. `what` names its source. */
export function assertSendable(what: string, secret: string): void {
  const at = secret.search(/[^\x21-\x7e]/);
  if (at < 0) return;
  const char = secret.charAt(at);
  const name =
    char === '\n' || char === '\r' ? 'a line break' : char === ' ' || char === '\t' ? 'a space' : 'a character that no credential has';
  throw new HoldfastError('CREDENTIALS_REFUSED', {
    message: `${what} has ${name} at position ${at + 1} of ${secret.length}: such credentials cannot be sent`,
    hint: 'Remove it. A secret that was made from a file often ends with a line break: use printf instead of echo, or tr -d "\\n".',
  });
}

function incomplete(message: string): HoldfastError {
  return new HoldfastError('CREDENTIALS_MISSING', { message, hint: 'Both halves are needed; temporary ones need AWS_SESSION_TOKEN too.' });
}

/** Parses a time in JSON to milliseconds since 1970; NaN for anything else. */
export function timeOf(value: Json | undefined): number {
  return typeof value === 'string' ? Date.parse(value) : Number.NaN;
}

/** Reads a short secret from a file that another program keeps fresh. */
export function readSecretFile(file: string, setting: string): string {
  try {
    return readRegularFile(file, LIMITS.settingsBytes).toString('utf8').trim();
  } catch (thrown) {
    throw new HoldfastError('SETTING_INVALID', {
      message: `${setting} names ${printable(file)}, which cannot be read: ${whyUnreadable(thrown)}`,
      hint: 'The token is mounted by the platform: check the volume and the user that runs Holdfast.',
      cause: thrown,
    });
  }
}

/** Reads a JSON object; null when the file is missing or holds none. */
function readJsonFile(file: string): JsonObject | null {
  try {
    const json = parseJson(readRegularFile(file, LIMITS.settingsBytes).toString('utf8'));
    return json.ok && isObject(json.value) ? json.value : null;
  } catch {
    return null;
  }
}
