import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseLocation } from '../../src/checkpoint/ship/location.ts';
import { openStore } from '../../src/checkpoint/ship/open-store.ts';
import { realClock } from '../../src/core/clock.ts';
import { createRng } from '../../src/core/rng.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { findServers, SECRET_KEY, type Server, SERVERS, startServer } from './servers.ts';
import { digests, runHoldfast, start } from './ship-process.ts';
import { FILES, sealCheckpoint } from './shippable-run.ts';

const binaries = findServers();
const rng = createRng(20261115);

/** How a test reaches a store: a real server's bucket, or a folder. */
interface Place {
  readonly base: string;
  readonly env: Readonly<Record<string, string>>;
}

function openAt(url: string, env: Readonly<Record<string, string>>) {
  const location = parseLocation(url);
  if (!location.ok) throw new Error(location.reason);
  const { signal } = new AbortController();
  const memory = { get: () => null, set() {}, delete() {} };
  return openStore(location.value, { env: { HOME: '/nonexistent', ...env }, clock: realClock, rng: createRng(1), signal, memory });
}

/** Beginnings of uploads, of every file a checkpoint may have; asking removes them. */
async function orphans(url: string, env: Place['env'], ...names: readonly string[]): Promise<number> {
  await using store = openAt(url, env);
  let count = await store.removeOldUploads(0);
  for (const name of names) for (const file of Object.keys(FILES)) count += await store.removeUploads(`${name}/${file}`);
  return count;
}

/** Starts a transfer and kills it some time after its first bytes. */
async function killed(args: readonly string[], env: Place['env']): Promise<void> {
  const { child, ended, begun } = start([...args, '--progress=json'], env);
  await begun;
  await sleep(rng.integer(0, 1000));
  child.kill('SIGKILL');
  await ended;
}

function suite(place: () => Place): void {
  let counter = 0;
  const fresh = () => ({ url: `${place().base}/prefix-${++counter}`, env: place().env });

  it('ships a checkpoint, points at it, remembers it, and brings it back byte for byte', async () => {
    using folder = tempFolder();
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 100);
    const shipped = await runHoldfast(['ship', run, url, '--json'], env);
    expect(shipped.stderr).toBe('');
    expect(JSON.parse(shipped.stdout)).toMatchObject({
      schema: 'holdfast.ship/1',
      url,
      checkpoints: [{ name: 'step-100', state: 'shipped', files: 5, pointer: { moved: true }, isRecorded: true }],
    });
    expect(JSON.parse(readFileSync(join(run, '.holdfast/shipped/step-100.json'), 'utf8'))).toMatchObject({ copies: [{ url, files: 5 }] });
    expect(JSON.parse((await runHoldfast(['ship', run, url, '--json'], env)).stdout)).toMatchObject({
      checkpoints: [{ state: 'already', sentBytes: 0 }],
    });
    const back = join(folder.path, 'back');
    const fetched = await runHoldfast(['fetch', url, back, '--json'], env);
    expect(fetched.stderr).toBe('');
    const bytes = Object.values(FILES).reduce((sum, size) => sum + size, 0);
    expect(JSON.parse(fetched.stdout)).toMatchObject({ name: 'step-100', state: 'fetched', receivedBytes: bytes });
    expect(digests(join(back, 'step-100'))).toEqual(digests(join(run, 'step-100')));
    expect((await runHoldfast(['resume', back, '--look-only'], env)).stdout.trim()).toBe(join(back, 'step-100'));
    expect(await orphans(url, env, 'step-100')).toBe(0);
  });

  it('killed at any moment, goes on where it was and leaves no upload behind', async () => {
    using folder = tempFolder();
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 100);
    for (let kills = 0; kills < 6; kills++) {
      await killed(['ship', run, url, '--limit', '90MiB/s', '--parallel', '3'], env);
      await using store = openAt(url, env);
      const isSealed = (await store.read('step-100/holdfast.manifest.json', 1e6)) !== null;
      // With the manifest there, everything must be there.
      if (isSealed) for (const [file, size] of Object.entries(FILES)) expect((await store.head(`step-100/${file}`))?.size).toBe(size);
    }
    const last = await runHoldfast(['ship', run, url, '--json'], env);
    expect(last.stderr).toBe('');
    expect(await orphans(url, env, 'step-100')).toBe(0);
    const back = join(folder.path, 'back');
    for (let kills = 0; kills < 4; kills++) {
      await killed(['fetch', url, back, '--limit', '90MiB/s'], env);
      // Under the final name there is all of it, or nothing.
      if (existsSync(join(back, 'step-100'))) expect(digests(join(back, 'step-100'))).toEqual(digests(join(run, 'step-100')));
    }
    expect((await runHoldfast(['fetch', url, back], env)).stderr).toBe('');
    expect(digests(join(back, 'step-100'))).toEqual(digests(join(run, 'step-100')));
    expect(existsSync(join(back, '.holdfast/fetching'))).toBe(false);
  });

  it('removes what a killed ship of another checkpoint had begun', async () => {
    using folder = tempFolder();
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 100);
    await killed(['ship', run, url, '--limit', '40MiB/s'], env);
    await sealCheckpoint(run, 200, { 'small.dat': 10 });
    expect((await runHoldfast(['ship', run, url], env)).code).toBe(0);
    expect(await orphans(url, env, 'step-100', 'step-200')).toBe(0);
    const back = join(folder.path, 'back');
    expect(JSON.parse((await runHoldfast(['fetch', url, back, '--json'], env)).stdout)).toMatchObject({ name: 'step-200' });
  });

  it('Ctrl-C ends a ship at once, and the next one goes on', async () => {
    using folder = tempFolder();
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 100);
    const { child, ended, begun } = start(['ship', run, url, '--limit', '20MiB/s', '--progress=json'], env);
    await begun;
    const asked = Date.now();
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
    expect(Date.now() - asked).toBeLessThan(3000);
    expect((await runHoldfast(['ship', run, url], env)).code).toBe(0);
    expect(await orphans(url, env, 'step-100')).toBe(0);
  });

  it('the pointer never goes back, whichever attempt ships last', async () => {
    using folder = tempFolder();
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    for (const step of [10, 20, 30]) await sealCheckpoint(run, step, { 'a.dat': 100 });
    const newest = await runHoldfast(['ship', run, url, '--checkpoint', 'step-30'], env);
    expect(newest.code).toBe(0);
    const all = JSON.parse((await runHoldfast(['ship', run, url, '--all', '--json'], env)).stdout) as {
      checkpoints: { name: string; pointer: unknown }[];
    };
    expect(all.checkpoints.map(({ name }) => name)).toEqual(['step-10', 'step-20', 'step-30']);
    expect(all.checkpoints[0]?.pointer).toMatchObject({ moved: false, step: 30 });
    expect(JSON.parse((await runHoldfast(['fetch', url, join(folder.path, 'back'), '--json'], env)).stdout)).toMatchObject({ step: 30 });
  });

  it('several who ship at once agree', async () => {
    using folder = tempFolder();
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    for (const step of [1, 2, 3]) await sealCheckpoint(run, step, { 'a.dat': 3_000_000, 'b.dat': 100 });
    const names = ['step-1', 'step-2', 'step-3', 'step-3'];
    const all = await Promise.all(names.map((name) => runHoldfast(['ship', run, url, '--checkpoint', name], env)));
    expect(all.map(({ stderr, code }) => [code, code === 0 ? '' : stderr])).toEqual(names.map(() => [0, '']));
    expect(JSON.parse((await runHoldfast(['fetch', url, join(folder.path, 'back'), '--json'], env)).stdout)).toMatchObject({ step: 3 });
  });

  it('does not ship what is no longer what was sealed', async () => {
    using folder = tempFolder();
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 100);
    const file = join(run, 'step-100/model/weights-2.dat');
    const bytes = readFileSync(file);
    bytes[20_000_000] = (bytes[20_000_000] as number) ^ 4;
    writeFileSync(file, bytes);
    const { code, stderr } = await runHoldfast(['ship', run, url], env);
    expect(stderr).toContain('SOURCE_CHANGED');
    expect(code).toBe(1);
    expect((await runHoldfast(['fetch', url, join(folder.path, 'back')], env)).stderr).toContain('REMOTE_NOT_FOUND');
    writeFileSync(file, bytes.subarray(0, 1000));
    expect((await runHoldfast(['ship', run, url], env)).stderr).toContain('SOURCE_CHANGED');
  });

  it('a prefix belongs to one run, and a folder too', async () => {
    using folder = tempFolder();
    const { url, env } = fresh();
    const [one, two] = [join(folder.path, 'one'), join(folder.path, 'two')];
    await sealCheckpoint(one, 1, { 'a.dat': 10 });
    await sealCheckpoint(two, 1, { 'a.dat': 10 });
    expect((await runHoldfast(['ship', one, url], env)).code).toBe(0);
    const second = await runHoldfast(['ship', two, url], env);
    expect(second.stderr).toContain('REMOTE_CONFLICT');
    expect((await runHoldfast(['fetch', url, two], env)).stderr).toContain('RUN_FOREIGN');
  });

  it('a remote manifest that names files elsewhere writes nothing', async () => {
    using folder = tempFolder();
    const { url, env } = fresh();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 1, { 'a.dat': 10 });
    await runHoldfast(['ship', run, url], env);
    await using store = openAt(url, env);
    const hostile = readFileSync(join(run, 'step-1/holdfast.manifest.json'), 'utf8').replace('"a.dat"', '"../../escaped"');
    await store.create('step-9/holdfast.manifest.json', Buffer.from(hostile));
    const { stderr, code } = await runHoldfast(['fetch', url, join(folder.path, 'back'), '--checkpoint', 'step-9'], env);
    expect(stderr).toContain('REMOTE_INVALID');
    expect(code).toBe(1);
    expect(existsSync(join(folder.path, 'back'))).toBe(false);
    expect((await runHoldfast(['fetch', url, join(folder.path, 'back'), '--checkpoint', '../x'], env)).code).toBe(64);
  });

  it('fetches nothing over something else of the same name', async () => {
    using folder = tempFolder();
    const { url, env } = fresh();
    const [run, back] = [join(folder.path, 'run'), join(folder.path, 'back')];
    await sealCheckpoint(run, 1, { 'a.dat': 10 });
    await runHoldfast(['ship', run, url], env);
    await runHoldfast(['fetch', url, back], env);
    renameSync(join(back, 'step-1/holdfast.manifest.json'), join(back, 'step-1/other.json'));
    expect((await runHoldfast(['fetch', url, back], env)).stderr).toContain('NAME_TAKEN');
  });
}

describe('ship and fetch with a folder', () => {
  const folder = tempFolder();
  afterAll(() => folder[Symbol.dispose]());
  suite(() => ({ base: `file://${folder.path}`, env: {} }));
});

describe.each(SERVERS)('ship and fetch with the real %s', (name) => {
  if ('reason' in binaries) {
    describe.skip(`not here: ${binaries.reason}`, () => {});
    return;
  }
  let server: Server;
  beforeAll(async () => {
    server = await startServer(binaries.folder, name);
  });
  afterAll(() => server[Symbol.asyncDispose]());
  suite(() => ({ base: `${server.scheme}://${server.bucket}`, env: server.env }));

  it('tells a bucket that does not exist', async () => {
    using folder = tempFolder();
    await sealCheckpoint(join(folder.path, 'run'), 1, { 'a.dat': 10 });
    const { stderr, code } = await runHoldfast(['ship', join(folder.path, 'run'), `${server.scheme}://no-such-bucket/x`], server.env);
    expect(stderr).toContain('BUCKET_NOT_FOUND');
    expect(code).toBe(66);
  });

  it.runIf(name !== 'fake-gcs-server')('tells wrong credentials, and never prints them', async () => {
    using folder = tempFolder();
    const run = join(folder.path, 'run');
    await sealCheckpoint(run, 1, { 'a.dat': 10 });
    const wrong = [
      { ...server.env, AWS_SECRET_ACCESS_KEY: 'a-secret-that-is-not-right' },
      { ...server.env, AWS_ACCESS_KEY_ID: 'nobodyatall', AWS_SESSION_TOKEN: 'a-session-token-nobody-gave' },
    ];
    for (const env of wrong) {
      const { stderr, stdout } = await runHoldfast(['ship', run, `s3://${server.bucket}/x`, '--json'], { ...env, HOLDFAST_DEBUG: '1' });
      expect(stderr).toMatch(/CREDENTIALS_REFUSED|REMOTE_ACCESS_DENIED/);
      for (const secret of ['a-secret-that-is-not-right', 'a-session-token-nobody-gave', 'Signature=', SECRET_KEY])
        expect(stdout + stderr).not.toContain(secret);
    }
  });

  describe('through a network that fails', () => {
    async function through(decide: Parameters<typeof startFaultProxy>[1]) {
      const folder = tempFolder();
      const proxy = await startFaultProxy(server.port, decide);
      const env = { ...server.env, [server.endpointVariable]: proxy.url };
      const run = join(folder.path, 'run');
      await sealCheckpoint(run, 100);
      const url = `${server.scheme}://${server.bucket}/faults-${rng.integer(0, 1e9)}`;
      return {
        ...{ folder, proxy, env, run, url, back: join(folder.path, 'back') },
        async [Symbol.asyncDispose]() {
          await proxy[Symbol.asyncDispose]();
          folder[Symbol.dispose]();
        },
      };
    }

    /** Something goes wrong with every third exchange or so; the choice follows from the seed. */
    const often = (make: () => Parameters<typeof startFaultProxy>[1] extends (seen: infer _) => infer Result ? Result : never) => {
      const own = rng.fork('often');
      return () => (own.next() < 0.3 ? make() : null);
    };

    it.each([
      ['connections that break in the middle', () => ({ kind: 'reset-request', after: rng.integer(0, 20_000_000) }) as const],
      ['answers that get lost', () => ({ kind: 'lose-response' }) as const],
      ['answers that end early', () => ({ kind: 'cut-response', after: rng.integer(0, 3000) }) as const],
      ['storms of 503', () => ({ kind: 'status', status: rng.pick([429, 500, 503]) }) as const],
    ])('%s', async (_, make) => {
      await using way = await through(often(make));
      const shipped = await runHoldfast(['ship', way.run, way.url], way.env);
      expect(shipped.stderr).toBe('');
      expect(way.proxy.faults).toBeGreaterThan(0);
      expect((await runHoldfast(['fetch', way.url, way.back], way.env)).stderr).toBe('');
      expect(digests(join(way.back, 'step-100'))).toEqual(digests(join(way.run, 'step-100')));
      expect(await orphans(way.url, server.env, 'step-100')).toBe(0);
    });

    it('a slow link', async () => {
      await using way = await through(() => ({ kind: 'slow', bytesPerSecond: 30_000_000 }));
      expect((await runHoldfast(['ship', way.run, way.url], way.env)).code).toBe(0);
    });

    it('bytes that change on the way are sent again, and received again', async () => {
      // Every transfer is damaged once: the first time a range is asked for, and the first time bytes go to an address.
      const seen = new Set<string>();
      await using way = await through(({ method, path, headers }) => {
        const isLarge = Number(headers['content-length'] ?? 0) > 1_000_000 || headers.range !== undefined;
        const transfer = `${method} ${path} ${headers.range ?? ''}`;
        if (!isLarge || seen.has(transfer)) return null;
        seen.add(transfer);
        return { kind: method === 'GET' ? 'flip-response' : 'flip-request' };
      });
      const shipped = await runHoldfast(['ship', way.run, way.url], way.env);
      // A Google object that goes in one piece is only compared afterwards: the copy is refused, and made anew by the next run.
      if (shipped.code !== 0) {
        expect(shipped.stderr).toContain('CHECKSUM_MISMATCH');
        expect((await runHoldfast(['ship', way.run, way.url], server.env)).code).toBe(0);
      }
      expect((await runHoldfast(['fetch', way.url, way.back], way.env)).stderr).toBe('');
      expect(digests(join(way.back, 'step-100'))).toEqual(digests(join(way.run, 'step-100')));
    });

    it('a store that tells wrong checksums has proven nothing', async () => {
      await using way = await through(() => ({ kind: 'wrong-checksum' }));
      const { stderr, code } = await runHoldfast(['ship', way.run, way.url], way.env);
      expect(stderr).toContain('CHECKSUM_MISMATCH');
      expect(code).toBe(1);
      expect(existsSync(join(way.run, '.holdfast/shipped/step-100.json'))).toBe(false);
      expect((await runHoldfast(['fetch', way.url, way.back], server.env)).stderr).toContain('REMOTE_NOT_FOUND');
    });
  });
});
