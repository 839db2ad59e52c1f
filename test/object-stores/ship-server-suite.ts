import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MEMORY, tempFolder } from '../support/temp-folder.ts';
import { cutOffSuite } from './cut-off-suite.ts';
import { type Fault, startFaultProxy } from './fault-proxy.ts';
import { lostCopiesSuite } from './lost-copies-suite.ts';
import { findServers, SECRET_KEY, type Server, type ServerName, startServer } from './servers.ts';
import { orphans, rng } from './ship-place.ts';
import { digests, runHoldfast } from './ship-process.ts';
import { shipSuite } from './ship-suite.ts';
import { shipTogetherSuite } from './ship-together-suite.ts';
import { sealCheckpoint } from './shippable-run.ts';
import { twoNodesSuite } from './two-nodes-suite.ts';

/** Tests ship and fetch with a real server, also through a failing network. */
export function shipServerSuite(name: ServerName): void {
  const binaries = findServers();
  describe(`ship and fetch with the real ${name}`, () => {
    if ('reason' in binaries) {
      describe.skip(`not here: ${binaries.reason}`, () => {});
      return;
    }
    let server: Server;
    beforeAll(async () => {
      server = await startServer(binaries.folder, name);
    });
    afterAll(() => server[Symbol.asyncDispose]());
    const place = () => ({ base: `${server.scheme}://${server.bucket}`, env: server.env });
    shipSuite(place);
    shipTogetherSuite(place);
    twoNodesSuite(place);
    lostCopiesSuite(place);
    refusals(name, () => server);
    cutOffSuite(() => server);
    describe('through a network that fails', () => faults(() => server));
  });
}

function refusals(name: ServerName, server: () => Server): void {
  it('reports a bucket that does not exist', async () => {
    using folder = tempFolder(MEMORY);
    await sealCheckpoint(join(folder.path, 'run'), 1, { 'a.dat': 10 });
    const { stderr, code } = await runHoldfast(['ship', join(folder.path, 'run'), `${server().scheme}://no-such-bucket/x`], server().env);
    expect(stderr).toContain('BUCKET_NOT_FOUND');
    expect(code).toBe(66);
  });

  it.runIf(name !== 'fake-gcs-server')('reports wrong credentials, and never prints them', async () => {
    using folder = tempFolder(MEMORY);
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 1, { 'a.dat': 10 });
    const wrong = [
      { ...server().env, AWS_SECRET_ACCESS_KEY: 'a-secret-that-is-not-right' },
      { ...server().env, AWS_ACCESS_KEY_ID: 'nobodyatall', AWS_SESSION_TOKEN: 'a-session-token-nobody-gave' },
    ];
    for (const env of wrong) {
      const { stderr, stdout } = await runHoldfast(['ship', run, `s3://${server().bucket}/x`, '--json'], { ...env, HOLDFAST_DEBUG: '1' });
      expect(stderr).toMatch(/CREDENTIALS_REFUSED|REMOTE_ACCESS_DENIED/);
      for (const secret of ['a-secret-that-is-not-right', 'a-session-token-nobody-gave', 'Signature=', SECRET_KEY])
        expect(stdout + stderr).not.toContain(secret);
    }
  });
}

function faults(server: () => Server): void {
  async function through(decide: Parameters<typeof startFaultProxy>[1]) {
    const folder = tempFolder(MEMORY);
    const proxy = await startFaultProxy(server().port, decide);
    const env = { ...server().env, [server().endpointVariable]: proxy.url };
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 100);
    const url = `${server().scheme}://${server().bucket}/faults-${rng.integer(0, 1e9)}`;
    return {
      ...{ folder, proxy, env, run, url, back: join(folder.path, 'back') },
      async [Symbol.asyncDispose]() {
        await proxy[Symbol.asyncDispose]();
        folder[Symbol.dispose]();
      },
    };
  }

  /** Injects a fault into about every third exchange. The seed decides which. */
  const often = (make: () => Fault) => {
    const own = rng.fork('often');
    return () => (own.next() < 0.3 ? make() : null);
  };

  it.each([
    ['connections that break in the middle', () => ({ kind: 'reset-request', after: rng.integer(0, 20_000_000) }) as const],
    ['answers that get lost', () => ({ kind: 'lose-response' }) as const],
    ['answers that end early', () => ({ kind: 'cut-response', after: rng.integer(0, 3000) }) as const],
    ['bursts of 429, 500 and 503', () => ({ kind: 'status', status: rng.pick([429, 500, 503]) }) as const],
  ])('ship and fetch survive %s', async (_, make) => {
    await using way = await through(often(make));
    // With `--quiet`, because reports about retries would also go to stderr.
    const shipped = await runHoldfast(['ship', '--quiet', way.run, way.url], way.env);
    expect(shipped.stderr).toBe('');
    expect(way.proxy.faults).toBeGreaterThan(0);
    expect((await runHoldfast(['fetch', '--quiet', way.url, way.back], way.env)).stderr).toBe('');
    expect(digests(join(way.back, 'step-100'))).toEqual(digests(join(way.run, 'step-100')));
    expect(await orphans(way.url, server().env, 'step-100')).toBe(0);
  });

  it('ship succeeds over a slow link', async () => {
    await using way = await through(() => ({ kind: 'slow', bytesPerSecond: 30_000_000 }));
    expect((await runHoldfast(['ship', way.run, way.url], way.env)).code).toBe(0);
  });

  it('ship and fetch repeat transfers whose bytes changed in transit', async () => {
    // Every transfer is damaged once: the first request for each range, and the first body for each
    // address.
    const seen = new Set<string>();
    await using way = await through(({ method, path, headers }) => {
      const isLarge = Number(headers['content-length'] ?? 0) > 1_000_000 || headers.range !== undefined;
      const transfer = `${method} ${path} ${headers.range ?? ''}`;
      if (!isLarge || seen.has(transfer)) return null;
      seen.add(transfer);
      return { kind: method === 'GET' ? 'flip-response' : 'flip-request' };
    });
    const shipped = await runHoldfast(['ship', way.run, way.url], way.env);
    // Google compares an object in one piece only afterwards: ship refuses the copy, and the next
    // run makes it again.
    if (shipped.code !== 0) {
      expect(shipped.stderr).toContain('CHECKSUM_MISMATCH');
      expect((await runHoldfast(['ship', way.run, way.url], server().env)).code).toBe(0);
    }
    expect((await runHoldfast(['fetch', '--quiet', way.url, way.back], way.env)).stderr).toBe('');
    expect(digests(join(way.back, 'step-100'))).toEqual(digests(join(way.run, 'step-100')));
  });

  it('ship refuses a copy when the store reports wrong checksums', async () => {
    await using way = await through(() => ({ kind: 'wrong-checksum' }));
    const { stderr, code } = await runHoldfast(['ship', way.run, way.url], way.env);
    expect(stderr).toContain('CHECKSUM_MISMATCH');
    expect(code).toBe(1);
    expect(existsSync(join(way.run, '.holdfast/shipped/step-100.json'))).toBe(false);
    expect((await runHoldfast(['fetch', way.url, way.back], server().env)).stderr).toContain('REMOTE_NOT_FOUND');
  });
}
