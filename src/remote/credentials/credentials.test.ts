import { createHash, createVerify, generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { realClock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { Redactor } from '../../core/secrets.ts';
import { createRng } from '../../core/rng.ts';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { findAwsCredentials } from './aws-credentials.ts';
import { readProfile } from './aws-profile.ts';
import { findGoogleToken } from './gcs-credentials.ts';
import { createHttpClient } from '../http/http-client.ts';
import { createRoutes, type Env } from '../http/connect.ts';
import { DEFAULT_RETRIES } from '../transfer/retry.ts';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

/** A service on the loopback interface that answers from a table of paths and records requests. */
async function service(answers: Readonly<Record<string, string | ((asked: Asked) => string)>>) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (text: Buffer) => (body += text.toString()));
    request.on('end', () => {
      const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body };
      asked.push(one);
      const answer = answers[`${one.method} ${one.path.split('?')[0] ?? ''}`];
      if (answer === undefined) response.writeHead(404).end();
      else response.end(typeof answer === 'string' ? answer : answer(one));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> => new Promise((resolve) => (server.closeAllConnections(), server.close(() => resolve())));
  return { url: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}`, asked, [Symbol.asyncDispose]: close };
}

function caller() {
  const routes = createRoutes({});
  const { signal } = new AbortController();
  const http = createHttpClient(routes, realClock);
  return {
    http,
    clock: realClock,
    rng: createRng(1),
    policy: { ...DEFAULT_RETRIES, attempts: 1 },
    signal,
    redactor: new Redactor(),
    close: () => routes.close(),
  };
}

async function findAws(env: Env, wanted: string | null = null) {
  const call = caller();
  try {
    return await findAwsCredentials({ env, profile: readProfile(env, wanted), isExplicit: wanted !== null, region: 'us-east-1' }, call);
  } finally {
    call.close();
  }
}

async function findGoogle(env: Env) {
  const call = caller();
  try {
    return await findGoogleToken(env, call);
  } finally {
    call.close();
  }
}

function home(files: Readonly<Record<string, string>>) {
  const folder = tempFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder.path, name)), { recursive: true });
    writeFileSync(join(folder.path, name), text);
  }
  return folder;
}

const NO_METADATA = { AWS_EC2_METADATA_DISABLED: 'true' };
const FILES = {
  '.aws/credentials':
    '[default]\naws_access_key_id = FILE\naws_secret_access_key = file-secret\n[work]\naws_access_key_id=WORK\naws_secret_access_key=w',
  '.aws/config': '[profile work]\nregion = eu-north-1\n[profile process]\ncredential_process = /bin/thing\n',
};

describe('AWS credentials', () => {
  it('come from the environment before the files, unless the user names a profile', async () => {
    using folder = home(FILES);
    const env = { HOME: folder.path, AWS_ACCESS_KEY_ID: 'ENV', AWS_SECRET_ACCESS_KEY: 's', AWS_SESSION_TOKEN: 't' };
    expect(await findAws(env)).toMatchObject({ accessKeyId: 'ENV', sessionToken: 't' });
    expect(await findAws(env, 'work')).toMatchObject({ accessKeyId: 'WORK', sessionToken: null });
    expect(await findAws({ HOME: folder.path })).toMatchObject({ accessKeyId: 'FILE' });
    expect(await findAws({ HOME: folder.path, AWS_PROFILE: 'work' })).toMatchObject({ accessKeyId: 'WORK' });
    expect(readProfile({ HOME: folder.path }, 'work').settings.get('region')).toBe('eu-north-1');
  });

  it('that are missing or incomplete are an error that lists the places searched', async () => {
    using folder = home(FILES);
    const env = { HOME: '/nonexistent', ...NO_METADATA };
    await expect(findAws(env)).rejects.toMatchObject({ code: 'CREDENTIALS_MISSING' });
    await expect(findAws({ ...env, AWS_ACCESS_KEY_ID: 'x' })).rejects.toThrow('AWS_SECRET_ACCESS_KEY');
    await expect(findAws({ HOME: folder.path, ...NO_METADATA }, 'nobody')).rejects.toThrow('no AWS profile "nobody"');
    await expect(findAws({ HOME: folder.path, ...NO_METADATA }, 'process')).rejects.toThrow('credential_process');
  });

  it('come from a web identity', async () => {
    const xml =
      '<R><Credentials><AccessKeyId>WEB</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2030-01-01T00:00:00Z</Expiration></Credentials></R>';
    await using sts = await service({ 'POST /': xml });
    using folder = home({ token: 'the-web-token\n' });
    const env = {
      HOME: folder.path,
      AWS_WEB_IDENTITY_TOKEN_FILE: join(folder.path, 'token'),
      AWS_ROLE_ARN: 'arn:aws:iam::1:role/x',
      AWS_ENDPOINT_URL_STS: sts.url,
    };
    expect(await findAws(env)).toEqual({ accessKeyId: 'WEB', secretAccessKey: 's', sessionToken: 't', expiresAt: Date.UTC(2030, 0, 1) });
    const form = new URLSearchParams(sts.asked[0]?.body);
    expect(form.get('WebIdentityToken')).toBe('the-web-token');
    expect(form.get('Action')).toBe('AssumeRoleWithWebIdentity');
  });

  it('come from the named profile, even when the environment has a web identity', async () => {
    const xml = (id: string): string =>
      `<R><Credentials><AccessKeyId>${id}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken></Credentials></R>`;
    await using sts = await service({ 'POST /': ({ body }) => xml(new URLSearchParams(body).get('RoleArn') ?? '') });
    using folder = home({
      token: 'the-web-token',
      '.aws/credentials': '[keys]\naws_access_key_id = KEYS\naws_secret_access_key = s\n',
    });
    const token = join(folder.path, 'token');
    writeFileSync(join(folder.path, '.aws/config'), `[profile web]\nrole_arn = PROFILE-ROLE\nweb_identity_token_file = ${token}\n`);
    const env = { HOME: folder.path, AWS_WEB_IDENTITY_TOKEN_FILE: token, AWS_ROLE_ARN: 'POD-ROLE', AWS_ENDPOINT_URL_STS: sts.url };
    expect(await findAws(env, 'keys')).toMatchObject({ accessKeyId: 'KEYS' });
    expect(sts.asked).toEqual([]);
    expect(await findAws(env, 'web')).toMatchObject({ accessKeyId: 'PROFILE-ROLE' });
    // The command line names no profile, so the pod's identity wins, as with the AWS tools.
    expect(await findAws({ ...env, AWS_PROFILE: 'keys' })).toMatchObject({ accessKeyId: 'POD-ROLE' });
  });

  it('come from a container, with the token it was given', async () => {
    const answer = JSON.stringify({ AccessKeyId: 'BOX', SecretAccessKey: 's', Token: 't', Expiration: '2030-01-01T00:00:00Z' });
    await using box = await service({ 'GET /creds': answer });
    const env = {
      HOME: '/nonexistent',
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${box.url}/creds`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: 'pod-token',
    };
    expect(await findAws(env)).toMatchObject({ accessKeyId: 'BOX', sessionToken: 't' });
    expect(box.asked[0]?.headers['authorization']).toBe('pod-token');
  });

  it('come from the instance, with a session token of its metadata service', async () => {
    await using imds = await service({
      'PUT /latest/api/token': 'imds-token',
      'GET /latest/meta-data/iam/security-credentials/': 'my-role',
      'GET /latest/meta-data/iam/security-credentials/my-role': JSON.stringify({
        AccessKeyId: 'EC2',
        SecretAccessKey: 's',
        Token: 't',
        Expiration: '2030-01-01T00:00:00Z',
      }),
    });
    expect(await findAws({ HOME: '/nonexistent', AWS_EC2_METADATA_SERVICE_ENDPOINT: imds.url })).toMatchObject({ accessKeyId: 'EC2' });
    expect(imds.asked.map(({ headers }) => headers['x-aws-ec2-metadata-token'] ?? null)).toEqual([null, 'imds-token', 'imds-token']);
  });

  it('come from a single sign-on session that another tool opened', async () => {
    const roleCredentials = { accessKeyId: 'SSO', secretAccessKey: 's', sessionToken: 't', expiration: 1_893_456_000_000 };
    await using portal = await service({ 'GET /federation/credentials': JSON.stringify({ roleCredentials }) });
    const cache = `.aws/sso/cache/${createHash('sha1').update('corp').digest('hex')}.json`;
    const config = ['[profile dev]', 'sso_session = corp', 'sso_account_id = 1', 'sso_role_name = dev'];
    const session = ['[sso-session corp]', 'sso_start_url = https://x', 'sso_region = eu-west-1'];
    using folder = home({
      '.aws/config': [...config, ...session].join('\n'),
      [cache]: JSON.stringify({ accessToken: 'sso-token', expiresAt: '2030-01-01T00:00:00Z' }),
    });
    const env = { HOME: folder.path, AWS_ENDPOINT_URL_SSO: portal.url, ...NO_METADATA };
    expect(await findAws(env, 'dev')).toMatchObject({ accessKeyId: 'SSO', expiresAt: 1_893_456_000_000 });
    expect(portal.asked[0]?.headers['x-amz-sso_bearer_token']).toBe('sso-token');
    writeFileSync(join(folder.path, cache), JSON.stringify({ accessToken: 'sso-token', expiresAt: '2020-01-01T00:00:00Z' }));
    await expect(findAws(env, 'dev')).rejects.toMatchObject({ code: 'CREDENTIALS_REFUSED', hint: 'aws sso login --profile dev' });
  });

  it('are never part of an error', async () => {
    await using sts = await service({});
    using folder = home({ token: 'the-secret-token' });
    const env = {
      HOME: folder.path,
      AWS_WEB_IDENTITY_TOKEN_FILE: join(folder.path, 'token'),
      AWS_ROLE_ARN: 'arn',
      AWS_ENDPOINT_URL_STS: sts.url,
    };
    const error = await findAws(env).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(Error);
    expect(`${String(error)} ${(error as Error).stack ?? ''}`).not.toContain('the-secret-token');
  });
});

describe('Google credentials', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

  it('come from the key of a service account, which signs an assertion', async () => {
    await using tokens = await service({ 'POST /token': JSON.stringify({ access_token: 'ya29', expires_in: 3600 }) });
    using folder = home({
      'key.json': JSON.stringify({
        type: 'service_account',
        client_email: 'me@project',
        private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
        token_uri: `${tokens.url}/token`,
      }),
    });
    expect(await findGoogle({ GOOGLE_APPLICATION_CREDENTIALS: join(folder.path, 'key.json') })).toMatchObject({ token: 'ya29' });
    const assertion = new URLSearchParams(tokens.asked[0]?.body).get('assertion') ?? '';
    const [head = '', claims = '', signature = ''] = assertion.split('.');
    expect(createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url')).toBe(true);
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({ iss: 'me@project', aud: `${tokens.url}/token` });
  });

  it('come from the metadata server when there is no file', async () => {
    const path = 'GET /computeMetadata/v1/instance/service-accounts/default/token';
    await using metadata = await service({ [path]: JSON.stringify({ access_token: 'machine', expires_in: 100 }) });
    expect(await findGoogle({ HOME: '/nonexistent', GCE_METADATA_HOST: metadata.host })).toMatchObject({ token: 'machine' });
    expect(metadata.asked[0]?.headers['metadata-flavor']).toBe('Google');
  });

  it('come from an exchanged token in a file, and from the account that it may impersonate', async () => {
    await using google = await service({
      'POST /sts': JSON.stringify({ access_token: 'federated', expires_in: 3600 }),
      'POST /impersonate': (asked) =>
        asked.headers['authorization'] === 'Bearer federated'
          ? JSON.stringify({ accessToken: 'impersonated', expireTime: '2030-01-01T00:00:00Z' })
          : '{}',
    });
    using folder = home({ subject: JSON.stringify({ id_token: 'from-kubernetes' }) });
    const file = join(folder.path, 'federation.json');
    writeFileSync(
      file,
      JSON.stringify({
        type: 'external_account',
        audience: '//iam/pool',
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        token_url: `${google.url}/sts`,
        service_account_impersonation_url: `${google.url}/impersonate`,
        credential_source: { file: join(folder.path, 'subject'), format: { type: 'json', subject_token_field_name: 'id_token' } },
      }),
    );
    expect(await findGoogle({ GOOGLE_APPLICATION_CREDENTIALS: file })).toEqual({ token: 'impersonated', expiresAt: Date.UTC(2030, 0, 1) });
    expect(new URLSearchParams(google.asked[0]?.body).get('subject_token')).toBe('from-kubernetes');
  });

  it('that cannot be used are reported without quoting them', async () => {
    using folder = home({
      'key.json': JSON.stringify({ type: 'service_account', client_email: 'x', private_key: 'not-a-key-but-secret' }),
    });
    const error = await findGoogle({ GOOGLE_APPLICATION_CREDENTIALS: join(folder.path, 'key.json') }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HoldfastError);
    expect(String(error)).not.toContain('not-a-key-but-secret');
    await expect(findGoogle({ GOOGLE_APPLICATION_CREDENTIALS: '/nonexistent/key.json' })).rejects.toMatchObject({
      code: 'SETTING_INVALID',
    });
  });
});

describe('credentials that cannot be sent', () => {
  it.each([
    ['AWS_ACCESS_KEY_ID', 'id\n', 'a line break at position 3 of 3'],
    ['AWS_SECRET_ACCESS_KEY', 'a secret', 'a space at position 2 of 8'],
    ['AWS_SESSION_TOKEN', 'token\nmore', 'a line break at position 6 of 10'],
    ['AWS_SESSION_TOKEN', 'tokén', 'a character that no credential has at position 4 of 5'],
  ])('are refused by name and never quoted: %s is %j', async (name, value, problem) => {
    const env = {
      AWS_ACCESS_KEY_ID: 'id',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_SESSION_TOKEN: 'token',
      HOME: '/nonexistent',
      [name]: value,
    };
    await expect(findAws(env)).rejects.toMatchObject({
      code: 'CREDENTIALS_REFUSED',
      message: `${name} has ${problem}: such credentials cannot be sent`,
    });
  });
});
