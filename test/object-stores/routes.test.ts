import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MEMORY, tempFolder } from '../support/temp-folder.ts';
import { type ForwardOptions, startForwardProxy } from './forward-proxy.ts';
import { findServers, type Server, startServer } from './servers.ts';
import { digests, runHoldfast } from './ship-process.ts';
import { sealCheckpoint } from './shippable-run.ts';
import { type Certificates, type Listening, makeCertificates, startTlsFront, whyNoCertificates } from './tls.ts';

const binaries = findServers();
const [USER, PASSWORD] = ['somebody', 'a-password-of-the-proxy'];
const MIB = 1024 * 1024;
/** One file in parts and one in a single piece. */
const FILES = { 'large.dat': 33 * MIB, 'small.dat': 1000 };

const why = 'reason' in binaries ? binaries.reason : whyNoCertificates();

describe.skipIf(why !== null)(`ways to a store${why === null ? '' : ` (not here: ${why})`}`, () => {
  const folder = tempFolder(MEMORY);
  const run = join(folder.path, 'run');
  let server: Server;
  let certificates: Certificates;
  let front: Listening;
  beforeAll(async () => {
    server = await startServer('folder' in binaries ? binaries.folder : '', 'versitygw');
    certificates = makeCertificates(folder.path, 'store.test', '127.0.0.1');
    front = await startTlsFront(server.port, certificates);
    await sealCheckpoint(run, 1, FILES);
  });
  afterAll(async () => {
    await front[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  let counter = 0;

  /** Ships and fetches with this environment. Both must succeed, and print no secret. */
  async function thereAndBack(env: Readonly<Record<string, string>>): Promise<void> {
    const [url, back] = [`s3://${server.bucket}/way-${++counter}`, join(folder.path, `back-${counter}`)];
    const all = { ...server.env, ...env, HOLDFAST_DEBUG: '1' };
    const shipped = await runHoldfast(['ship', run, url, '--progress=json'], all);
    expect([shipped.code, shipped.code === 0 ? '' : shipped.stderr]).toEqual([0, '']);
    // The report has a warning when the folder is in memory.
    const fetched = await runHoldfast(['fetch', '--quiet', url, back], all);
    expect([fetched.code, fetched.stderr]).toEqual([0, '']);
    expect(digests(join(back, 'step-1'))).toEqual(digests(join(run, 'step-1')));
    expect(shipped.stdout + shipped.stderr + fetched.stdout).not.toContain(PASSWORD);
  }

  /** Ships with this environment, which must fail. */
  async function refused(env: Readonly<Record<string, string>>) {
    const all = { ...server.env, ...env, AWS_MAX_ATTEMPTS: '2', HOLDFAST_DEBUG: '1' };
    const ended = await runHoldfast(['ship', run, `s3://${server.bucket}/way-${++counter}`, '--json'], all);
    expect(ended.stdout + ended.stderr).not.toContain(PASSWORD);
    return ended;
  }

  const https = (host = '127.0.0.1') => ({ AWS_ENDPOINT_URL_S3: `https://${host}:${front.port}` });

  describe('certificates', () => {
    it('of an authority in AWS_CA_BUNDLE are trusted', () => thereAndBack({ ...https(), AWS_CA_BUNDLE: certificates.authority }));

    it('of an authority in NODE_EXTRA_CA_CERTS are trusted', () =>
      thereAndBack({ ...https(), NODE_EXTRA_CA_CERTS: certificates.authority }));

    it('of an unknown authority are refused, with a hint', async () => {
      const { code, stderr } = await refused(https());
      expect(stderr).toMatch(/REMOTE_UNAVAILABLE.*(UNABLE_TO|SELF_SIGNED)/);
      expect(stderr).toContain('AWS_CA_BUNDLE');
      expect(code).toBe(75);
    });

    it('for another name are refused', async () => {
      using other = tempFolder(MEMORY);
      const foreign = makeCertificates(other.path, 'elsewhere.test');
      await using wrong = await startTlsFront(server.port, foreign);
      const env = { AWS_ENDPOINT_URL_S3: `https://127.0.0.1:${wrong.port}`, AWS_CA_BUNDLE: foreign.authority };
      expect((await refused(env)).stderr).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
    });

    it('in a missing file are reported as a wrong setting', async () => {
      const { code, stderr } = await refused({ ...https(), AWS_CA_BUNDLE: join(folder.path, 'no-such-file') });
      expect(stderr).toContain('SETTING_INVALID');
      expect(code).toBe(64);
    });

    it('in a file without any certificate are reported as a wrong setting', async () => {
      const file = join(folder.path, 'empty.pem');
      writeFileSync(file, 'nothing\n');
      expect((await refused({ ...https(), AWS_CA_BUNDLE: file })).code).not.toBe(0);
    });
  });

  describe('proxies', () => {
    const through = (options: Partial<ForwardOptions> = {}) =>
      startForwardProxy({ hosts: { 'store.test': server.port, [`store.test:${front.port}`]: front.port }, ...options });
    const plain = { AWS_ENDPOINT_URL_S3: 'http://store.test' };

    it('of HTTP_PROXY get the whole address of plain requests', async () => {
      await using proxy = await through();
      await thereAndBack({ ...plain, http_proxy: `http://127.0.0.1:${proxy.port}` });
      expect(proxy.asked.length).toBeGreaterThan(5);
      expect(proxy.asked.every((line) => / http:\/\/store\.test\//.test(line))).toBe(true);
    });

    it('of HTTPS_PROXY get a CONNECT, and see only the host name', async () => {
      await using proxy = await through({ user: `${USER}:${PASSWORD}` });
      const env = { HTTPS_PROXY: `http://${USER}:${PASSWORD}@127.0.0.1:${proxy.port}`, AWS_CA_BUNDLE: certificates.authority };
      await thereAndBack({ ...https('store.test'), ...env });
      expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT store.test:${front.port}`]));
    });

    it('that speak TLS themselves are verified with the same certificates', async () => {
      await using proxy = await through({ certificates });
      const env = { https_proxy: `https://127.0.0.1:${proxy.port}`, AWS_CA_BUNDLE: certificates.authority };
      await thereAndBack({ ...https('store.test'), ...env });
      expect(proxy.asked.length).toBeGreaterThan(0);
    });

    it('are not used for hosts that NO_PROXY names', async () => {
      await using proxy = await through();
      const env = { ...plain, http_proxy: `http://127.0.0.1:${proxy.port}`, NO_PROXY: 'other.test,.test' };
      // The name does not exist, so a direct request cannot arrive.
      expect((await refused(env)).code).toBe(75);
      expect(proxy.asked).toEqual([]);
    });

    it.each([
      ['a tunnel', () => https('store.test'), 'https_proxy'],
      ['plain requests', () => plain, 'http_proxy'],
    ])('that refuse %s are named in the error', async (_, endpoint, variable) => {
      await using proxy = await through({ user: 'somebody:else' });
      const { code, stderr } = await refused({ ...endpoint(), [variable]: `http://${USER}:${PASSWORD}@127.0.0.1:${proxy.port}` });
      expect(stderr).toContain('REMOTE_UNAVAILABLE');
      expect(stderr).toContain('407');
      expect(stderr).toContain('The proxy does not let this pass');
      expect(code).toBe(75);
    });

    it('of an unsupported kind are reported as a wrong setting', async () => {
      const { code, stderr } = await refused({ ...plain, ALL_PROXY: `socks5://${USER}:${PASSWORD}@127.0.0.1:1080` });
      expect(stderr).toContain('SETTING_INVALID');
      expect(code).toBe(64);
    });
  });
});
