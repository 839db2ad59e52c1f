import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, symlinkSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ProcessResult, ROOT, runProcess } from '../support/run-process.ts';
import { Box } from './cluster/box.ts';
import { findFacility, whyNoCluster } from './cluster/facility.ts';
import { claimPlace, recordHolder, removeCluster } from './cluster/leftovers.ts';
import { prepareNetwork } from './cluster/network.ts';
import { type OwnCache, ownCache } from './cluster/own-cache.ts';

const SETUP = join(ROOT, 'test/kubernetes/setup.sh');
const START = `'${process.execPath}' '${ROOT}test/kubernetes/real.ts' --nodes=1`;
const reason = whyNoCluster();
const built = reason === null ? findFacility().folder : '';

describe.skipIf(reason !== null)(`a machine${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cache: OwnCache;
  beforeEach(() => {
    cache = ownCache();
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await cache[Symbol.asyncDispose]();
  });

  const ownEnvironment = (): Readonly<Record<string, string | undefined>> => {
    const { PATH, HOME } = process.env;
    return { PATH, HOME, HOLDFAST_CACHE: cache.path, BUILT: built };
  };

  /** Runs lines of shell that see other mounts than the rest of the machine, with a cache of their own. */
  function elsewhere(...lines: readonly string[]): Promise<ProcessResult> {
    return runProcess('unshare', ['--mount', 'bash', '-ec', lines.join('\n')], { env: ownEnvironment() });
  }

  const hideDevices = ['mount -t tmpfs tmpfs /dev', 'mknod -m 666 /dev/null c 1 3', 'mknod -m 666 /dev/urandom c 1 9'];
  const linkBuilt = 'ln -s "$BUILT" "$HOLDFAST_CACHE"';

  it.each([
    [
      'with little disk',
      ['mount -t tmpfs -o size=3m tmpfs "$HOLDFAST_CACHE"', linkBuilt, `${START} || code=$?`, 'ls "$HOLDFAST_CACHE"', 'exit ${code:-0}'],
      /^error: a cluster of 1 node needs 640 MiB at least, and \S+ has [0-3] MiB free: make room there, or set HOLDFAST_CACHE/m,
    ],
    ['without loop devices', [linkBuilt, ...hideDevices, START], /^error: a cluster needs loop devices: there is no \/dev\/loop-control$/m],
    [
      'whose loop devices are all in use',
      [linkBuilt, ...hideDevices, 'mknod -m 666 /dev/loop-control c 1 3', START],
      /^error: a cluster needs a loop device for every node, and none is free: losetup: .*; `losetup --list` tells who has them$/m,
    ],
  ])('%s is refused with a clear sentence before anything of a cluster is made', async (_, lines, sentence) => {
    const { code, stdout, stderr } = await elsewhere(...lines);
    expect(stderr).toMatch(sentence);
    expect(code).toBe(1);
    expect(stdout).not.toContain('clusters');
    expect(existsSync(join(cache.path, 'clusters'))).toBe(false);
  });

  it('with little disk for a build is told before anything is built', async () => {
    const { code, stderr } = await elsewhere('mount -t tmpfs -o size=3m tmpfs "$HOLDFAST_CACHE"', SETUP);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `to build Kubernetes ${cache.path} needs 1024 MiB free, and has 3: make room there, or set HOLDFAST_CACHE to a folder on a larger disk\n`,
    );
  });

  it('without any network has what was built before', async () => {
    symlinkSync(built, join(cache.path, basename(built)));
    const ended = await runProcess('unshare', ['--net', SETUP], { env: ownEnvironment() });
    expect(ended).toEqual({ code: 0, stdout: `${join(cache.path, basename(built))}\n`, stderr: '' });
  });

  it('with a port taken is none to a cluster, which has all ports of its own', async () => {
    const server = createServer().listen(0, '0.0.0.0');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    vi.stubEnv('HOLDFAST_CACHE', cache.path);
    const place = claimPlace({ isKept: false });
    try {
      const whenHeld = (holder: Box['holder']): void => recordHolder(place, holder);
      const box = await Box.make({
        folder: place.folder,
        init: ['sleep', 'infinity'],
        prepare: prepareNetwork(1),
        isKept: false,
        whenHeld,
      });
      const listen = `require('node:net').createServer().listen(${port}, '0.0.0.0', () => { console.log('mine'); process.exit(); })`;
      expect(await box.run([process.execPath, '--eval', listen])).toBe('mine\n');
      const isTaken = (): string => execFileSync(process.execPath, ['--eval', listen], { encoding: 'utf8', stdio: 'pipe' });
      expect(isTaken).toThrow('EADDRINUSE');
    } finally {
      await removeCluster(place);
      server.close();
    }
  });
});
