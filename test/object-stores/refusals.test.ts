import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { whyNoMounts } from '../support/mounts.ts';
import { MEMORY, tempFolder } from '../support/temp-folder.ts';
import { type Fault, startFaultProxy } from './fault-proxy.ts';
import { mountReadOnly } from './read-only.ts';
import { findServers, SECRET_KEY, type Server, startServer } from './servers.ts';
import { digests, runHoldfast } from './ship-process.ts';
import { openAt } from './ship-place.ts';
import { sealCheckpoint } from './shippable-run.ts';

const binaries = findServers();
const why = 'reason' in binaries ? binaries.reason : null;

/** A refusal in the store's own format. */
function refusal(status: number, code: string, headers: Readonly<Record<string, string>> = {}): Fault {
  return { kind: 'answer', status, headers, body: `<Error><Code>${code}</Code><Message>${code} of a test</Message></Error>` };
}

describe.skipIf(why !== null)(`refusals${why === null ? '' : ` (not here: ${why})`}`, () => {
  const folder = tempFolder(MEMORY);
  const run = join(folder.path, 'run');
  let server: Server;
  let counter = 0;
  const fresh = () => `s3://${server.bucket}/refusals-${++counter}`;
  beforeAll(async () => {
    server = await startServer('folder' in binaries ? binaries.folder : '', 'versitygw');
    await sealCheckpoint(run, 1, { 'a.dat': 1000, 'b.dat': 40 * 1024 * 1024 });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const few = { AWS_MAX_ATTEMPTS: '2' };

  describe('exit codes', () => {
    it.each<[string, number, string, () => readonly string[], () => Record<string, string>]>([
      [
        'an unreachable store',
        75,
        'REMOTE_UNAVAILABLE',
        () => ['ship', run, fresh()],
        () => ({ AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:9' }),
      ],
      [
        'an unknown host name',
        75,
        'REMOTE_UNAVAILABLE',
        () => ['ship', run, fresh()],
        () => ({ AWS_ENDPOINT_URL_S3: 'http://no-such-host.invalid' }),
      ],
      ['a bucket that does not exist', 66, 'BUCKET_NOT_FOUND', () => ['ship', run, 's3://no-such-bucket/x'], () => ({})],
      [
        'a bucket to fetch from that does not exist',
        66,
        'BUCKET_NOT_FOUND',
        () => ['fetch', 's3://no-such-bucket/x', join(folder.path, 'x')],
        () => ({}),
      ],
      [
        'a secret that is wrong',
        66,
        'CREDENTIALS_REFUSED',
        () => ['ship', run, fresh()],
        () => ({ AWS_SECRET_ACCESS_KEY: 'not-the-secret' }),
      ],
      [
        'no credentials at all',
        66,
        'CREDENTIALS_MISSING',
        () => ['ship', run, fresh()],
        () => ({ AWS_ACCESS_KEY_ID: '', AWS_EC2_METADATA_DISABLED: 'true' }),
      ],
      ['half of the credentials', 66, 'CREDENTIALS_MISSING', () => ['ship', run, fresh()], () => ({ AWS_SECRET_ACCESS_KEY: '' })],
      ['a prefix with nothing in it', 66, 'REMOTE_NOT_FOUND', () => ['fetch', fresh(), join(folder.path, 'x')], () => ({})],
      ['a run that is not there', 66, 'PATH_NOT_FOUND', () => ['ship', join(folder.path, 'no-such-run'), fresh()], () => ({})],
      ['a run with nothing sealed', 66, 'NOT_SEALED', () => ['ship', folder.path, fresh()], () => ({})],
      ['a checkpoint of another name', 66, 'NOT_SEALED', () => ['ship', run, fresh(), '--checkpoint', 'step-2'], () => ({})],
      ['an address of no known kind', 64, 'USAGE', () => ['ship', run, 'ftp://somewhere/x'], () => ({})],
      ['credentials in the address', 64, 'USAGE', () => ['ship', run, 's3://user:password@bucket/x'], () => ({})],
      ['a rate that is none', 64, 'USAGE', () => ['ship', run, fresh(), '--limit', 'fast'], () => ({})],
      ['one operand too few', 64, 'USAGE', () => ['ship', run], () => ({})],
      ['an endpoint that is no address', 64, 'SETTING_INVALID', () => ['ship', run, fresh(), '--endpoint', 'minio'], () => ({})],
      ['a file where the folder should be', 66, 'PATH_NOT_SUPPORTED', () => ['ship', join(run, 'step-1/a.dat'), fresh()], () => ({})],
    ])('%s ends with %i and %s', async (_, exit, error, args, env) => {
      const { code, stderr, stdout } = await runHoldfast(args(), { ...server.env, ...few, ...env() });
      expect(stderr).toMatch(new RegExp(`^error ${error}: `));
      expect([code, stdout]).toEqual([exit, '']);
      for (const secret of [SECRET_KEY, 'not-the-secret', 'password@']) expect(stderr).not.toContain(secret);
    });

    it('a store that keeps failing ends with 75, and the same command succeeds later', async () => {
      const url = fresh();
      await using proxy = await startFaultProxy(server.port, ({ path }) => (path.includes('b.dat') ? refusal(503, 'SlowDown') : null));
      const env = { ...server.env, ...few };
      const failed = await runHoldfast(['ship', run, url], { ...env, AWS_ENDPOINT_URL_S3: proxy.url });
      expect(failed.stderr).toContain('error REMOTE_UNAVAILABLE: ');
      expect(failed.code).toBe(75);
      expect((await runHoldfast(['ship', run, url], env)).code).toBe(0);
    });

    it('fetch into a path that is a file ends with 66 and leaves the file alone', async () => {
      const url = fresh();
      expect((await runHoldfast(['ship', run, url], server.env)).code).toBe(0);
      const file = join(folder.path, 'a-file');
      writeFileSync(file, 'in the way');
      const { code, stderr } = await runHoldfast(['fetch', url, join(file, 'back')], server.env);
      expect(stderr).toMatch(/^error PATH_NOT_SUPPORTED: /);
      expect(code).toBe(66);
      expect(readFileSync(file, 'utf8')).toBe('in the way');
    });
  });

  describe('a bucket in another region', () => {
    /** The store accepts only requests that are signed for the bucket's own region. */
    const elsewhere = (status: number, code: string) =>
      startFaultProxy(server.port, ({ headers }) =>
        (headers.authorization ?? '').includes('/us-east-1/s3/') ? null : refusal(status, code, { 'x-amz-bucket-region': 'us-east-1' }),
      );

    it.each([
      [301, 'PermanentRedirect'],
      [307, 'TemporaryRedirect'],
      [400, 'AuthorizationHeaderMalformed'],
    ])('is followed to its region after a %i (%s), and used there from then on', async (status, code) => {
      const url = fresh();
      await using proxy = await elsewhere(status, code);
      const env = { ...server.env, AWS_ENDPOINT_URL_S3: proxy.url, AWS_REGION: 'eu-central-1' };
      const shipped = await runHoldfast(['ship', run, url], env);
      expect([shipped.code, shipped.stderr]).toEqual([0, '']);
      expect(proxy.faults).toBe(1);
      expect((await runHoldfast(['fetch', url, join(folder.path, `region-${status}`)], env)).code).toBe(0);
    });

    it('is an error when the store redirects in circles', async () => {
      let turn = 0;
      await using proxy = await startFaultProxy(server.port, () =>
        refusal(301, 'PermanentRedirect', { 'x-amz-bucket-region': `region-${++turn}` }),
      );
      const { code, stderr } = await runHoldfast(['ship', run, fresh()], { ...server.env, ...few, AWS_ENDPOINT_URL_S3: proxy.url });
      expect(stderr).toContain('PermanentRedirect');
      expect(code).toBe(1);
      expect(proxy.requests.length).toBeLessThan(20);
    });
  });

  describe('a clock that is wrong', () => {
    const hours = (count: number) => ({ now: () => Date.now() + count * 3_600_000 });

    it.each([-2, 3])('by %i hours is corrected by the store’s own time', async (count) => {
      await using store = openAt(fresh(), server.env, hours(count));
      expect(await store.create('key', Buffer.from('value'))).toMatchObject({ isWritten: true });
      expect((await store.read('key', 100))?.bytes.toString()).toBe('value');
    });

    it('is corrected once, and reported if that does not help', async () => {
      await using proxy = await startFaultProxy(server.port, () =>
        refusal(403, 'RequestTimeTooSkewed', { date: 'Thu, 01 Jan 2099 00:00:00 GMT' }),
      );
      const { code, stderr } = await runHoldfast(['ship', run, fresh()], { ...server.env, AWS_ENDPOINT_URL_S3: proxy.url });
      expect(stderr).toMatch(/^error CLOCK_SKEWED: /);
      expect(code).toBe(1);
      expect(proxy.requests).toHaveLength(2);
    });
  });

  const whyNot = whyNoMounts();
  it.skipIf(whyNot !== null)(`ship copies a run from a read-only volume${whyNot === null ? '' : ` (not here: ${whyNot})`}`, async () => {
    const url = fresh();
    using mounted = mountReadOnly(run);
    const { code, stdout, stderr } = await runHoldfast(['ship', mounted.path, url, '--json'], server.env);
    expect([code, stderr]).toEqual([0, '']);
    const { checkpoints, notes } = JSON.parse(stdout) as { checkpoints: object[]; notes: string[] };
    expect(checkpoints).toMatchObject([{ state: 'shipped', isRecorded: false }]);
    expect(notes.join()).toContain('cannot be written');
    const back = join(folder.path, 'from-read-only');
    expect((await runHoldfast(['fetch', url, back], server.env)).code).toBe(0);
    expect(digests(join(back, 'step-1'))).toEqual(digests(join(run, 'step-1')));
    const refused = await runHoldfast(['fetch', url, join(mounted.path, 'back')], server.env);
    expect(refused.stderr).toMatch(/^error STORE_NOT_WRITABLE: /);
    expect(refused.code).toBe(73);
  });

  const isRoot = process.getuid?.() === 0;
  it.skipIf(isRoot)(`fetch refuses a folder that it cannot write${isRoot ? ' (not here: root may write everywhere)' : ''}`, async () => {
    const url = fresh();
    const closed = join(folder.path, 'closed');
    mkdirSync(closed);
    chmodSync(closed, 0o500);
    expect((await runHoldfast(['ship', run, url], server.env)).code).toBe(0);
    expect((await runHoldfast(['fetch', url, closed], server.env)).code).toBe(73);
  });
});
