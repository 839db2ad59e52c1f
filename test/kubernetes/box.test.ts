import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ROOT, runProcess } from '../support/run-process.ts';
import { Box } from './cluster/box.ts';
import { makeCgroup } from './cluster/cgroups.ts';
import { hasEnded } from './cluster/ended.ts';
import { whyNoNamespaces } from './cluster/facility.ts';
import {
  cgroupOf,
  claimPlace,
  clustersElsewhere,
  keptClusters,
  ownClusters,
  promisedInotify,
  recordHolder,
  removeCluster,
  removeLeftovers,
  removeOwnAtOnce,
  settle,
} from './cluster/leftovers.ts';
import { prepareNetwork } from './cluster/network.ts';
import { whenNothingIsLeft } from './cluster/nothing-left.ts';
import { type OwnCache, ownCache } from './cluster/own-cache.ts';
import { identify } from './cluster/process-start.ts';
import { type ClusterPlace, clusterPlaces } from './cluster/record.ts';
import { networkOf, tracesOf } from './cluster/traces.ts';
import { eventually } from './cluster/wait.ts';

const INIT = ['sleep', 'infinity'];
const reason = whyNoNamespaces();

/** In a cgroup of the cluster and in a network of its own, as what runs in a pod. */
const likeAPod = (cgroup: string): readonly string[] => [
  ...['sh', '-ec'],
  `for root in /sys/fs/cgroup /sys/fs/cgroup/*; do
    if [ -e "$root/${cgroup}/node-1/cgroup.procs" ]; then (mkdir "$root/${cgroup}/node-1/pod"; echo $$ > "$root/${cgroup}/node-1/pod/cgroup.procs") || true; fi
  done
  exec unshare --net sleep infinity`,
];

/** A box with one loop-mounted disk, one cgroup and one daemon: all that a cluster leaves traces of. */
async function furnishedBox(): Promise<{ place: ClusterPlace; box: Box; network: string }> {
  const place = claimPlace({ isKept: false });
  const whenHeld = (holder: Box['holder']): void => recordHolder(place, holder);
  const box = await Box.make({ folder: place.folder, init: INIT, prepare: prepareNetwork(1), isKept: false, whenHeld });
  const [image, disk] = [join(place.folder, 'disk.img'), join(place.folder, 'disk')];
  mkdirSync(disk);
  writeFileSync(image, '');
  truncateSync(image, 32 << 20);
  await box.run(['mkfs.ext4', '-q', image]);
  await box.run(['mount', '-o', 'loop', image, disk]);
  makeCgroup(`${cgroupOf(place.id)}/node-1`);
  box.start('sleeper', INIT);
  const network = await eventually('the network of the box', async () => (await box.run(['readlink', '/proc/self/ns/net'])).trim());
  return { place, box, network };
}

const seen = (place: ClusterPlace, network: string): ReturnType<typeof tracesOf> =>
  tracesOf({ folder: place.folder, cgroup: cgroupOf(place.id), network });

describe.skipIf(reason !== null)(`a box${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cache: OwnCache;
  beforeEach(() => {
    cache = ownCache();
    vi.stubEnv('HOLDFAST_CACHE', cache.path);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await cache[Symbol.asyncDispose]();
  });

  interface Made extends ClusterPlace {
    readonly network: string;
  }

  /** A session of its own that has made a box, and waits. */
  async function anotherSession(...args: readonly string[]): Promise<{ maker: ChildProcess; made: Made }> {
    const maker = spawn(process.execPath, [join(ROOT, 'test/kubernetes/cluster/make-box.ts'), ...args], {
      env: { PATH: process.env['PATH'], HOLDFAST_CACHE: cache.path },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(maker, 'exit').then(() => Promise.reject(new Error('it ended before it had made a box')));
    const [line] = (await Promise.race([once(createInterface({ input: maker.stdout }), 'line'), ended])) as [string];
    return { maker, made: JSON.parse(line) as Made };
  }

  async function killed(maker: ChildProcess): Promise<void> {
    if (hasEnded(maker)) return;
    maker.kill('SIGKILL');
    await once(maker, 'exit');
  }

  async function expectNothingLeft(place: ClusterPlace, network: string): Promise<void> {
    await whenNothingIsLeft(() => seen(place, network));
    expect(existsSync(place.folder)).toBe(false);
  }

  it('is a network, a process table and a mount table of its own, from which nothing leads out', async () => {
    const { place, box, network } = await furnishedBox();
    expect(network).not.toBe(networkOf(process.pid));
    expect((await box.run(['ip', 'route', 'show', 'default'])).trim()).toBe('');
    expect((await box.run(['sh', '-c', 'echo /proc/[0-9]*'])).trim().split(' ').length).toBeLessThan(6);
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(place.folder);
    await removeCluster(place);
  });

  it('keeps settings of the machine from what runs in it', async () => {
    const { place, box } = await furnishedBox();
    const before = readFileSync('/proc/sys/kernel/panic', 'utf8');
    await box.run(['sh', '-c', 'echo 77 > /proc/sys/kernel/panic']);
    expect(await box.run(['cat', '/proc/sys/kernel/panic'])).toBe('77\n');
    expect(readFileSync('/proc/sys/kernel/panic', 'utf8')).toBe(before);
    await removeCluster(place);
  });

  it('leaves no process, namespace, mount, loop device, cgroup or folder when it is taken down', async () => {
    const { place, box, network } = await furnishedBox();
    box.start('pod', likeAPod(cgroupOf(place.id)));
    const networks = (): readonly string[] => seen(place, network).namespaces.filter((namespace) => namespace.startsWith('net:'));
    await eventually('the network of what runs in a pod', () => (networks().length === 2 ? true : null));
    const before = seen(place, network);
    expect(before.namespaces).toContain(network);
    expect([...new Set(before.namespaces.map((namespace) => namespace.split(':')[0]))]).toEqual(['ipc', 'mnt', 'net', 'pid', 'uts']);
    expect(before.processes.length).toBeGreaterThan(1);
    expect([before.loopDevices.length, before.cgroups]).toEqual([1, [cgroupOf(place.id)]]);
    await removeCluster(place);
    await expectNothingLeft(place, network);
  });

  it('ends with the process that made it, also by SIGKILL, and the next start removes the rest', async () => {
    const { maker, made } = await anotherSession();
    const { id, network } = made;
    expect(seen(made, network).processes.length).toBeGreaterThan(1);
    expect(await removeLeftovers()).toEqual([]);
    await killed(maker);
    await eventually('its processes to end', () => (seen(made, network).processes.length === 0 ? true : null));
    expect(seen(made, network).cgroups).toEqual([cgroupOf(id)]);
    expect(await removeLeftovers()).toEqual([id]);
    await expectNothingLeft(made, network);
  });

  it('that is to be kept is removed by the next start when whoever made it was killed before it was whole', async () => {
    const { maker, made } = await anotherSession('--kept');
    expect(await removeLeftovers()).toEqual([]);
    await killed(maker);
    expect(seen(made, made.network).processes.length).toBeGreaterThan(1);
    expect(keptClusters()).toEqual([]);
    expect(await removeLeftovers()).toEqual([made.id]);
    await expectNothingLeft(made, made.network);
  });

  it('that is whole and kept outlives whoever made it', async () => {
    const { maker, made } = await anotherSession('--kept', '--settled');
    await killed(maker);
    expect(await removeLeftovers()).toEqual([]);
    expect(keptClusters().map(({ id }) => id)).toEqual([made.id]);
    expect(seen(made, made.network).processes.length).toBeGreaterThan(1);
    await removeCluster(made);
    await expectNothingLeft(made, made.network);
  });

  it('whose cgroup somebody else is in keeps its record when it is taken down at once, so that it can be taken down later', async () => {
    const { place, network } = await furnishedBox();
    const [shell, ...args] = likeAPod(cgroupOf(place.id));
    const stranger = spawn(String(shell), args, { stdio: 'ignore' });
    try {
      await eventually('a stranger in its cgroup', () => (networkOf(stranger.pid ?? 0) === networkOf(process.pid) ? null : true));
      removeOwnAtOnce(100);
      expect(clusterPlaces()).toEqual([place]);
    } finally {
      await killed(stranger);
    }
    removeOwnAtOnce();
    await expectNothingLeft(place, network);
  });

  it('is left alone by whoever has the same cache and other processes, as two containers with one home', async () => {
    const { place, network } = await furnishedBox();
    const ask = `import { clustersElsewhere, keptClusters, removeLeftovers } from '${ROOT}test/kubernetes/cluster/leftovers.ts';
      console.log(JSON.stringify([await removeLeftovers(), keptClusters(), clustersElsewhere()]));`;
    const apart = ['--pid', '--fork', '--mount-proc', process.execPath, '--input-type=module', '--eval', ask];
    const { stdout, stderr } = await runProcess('unshare', apart, { env: { PATH: process.env['PATH'], HOLDFAST_CACHE: cache.path } });
    expect([stdout, stderr]).toEqual([`${JSON.stringify([[], [], [place]])}\n`, '']);
    expect(clustersElsewhere()).toEqual([]);
    expect(seen(place, network).processes.length).toBeGreaterThan(1);
    await removeCluster(place);
    await expectNothingLeft(place, network);
  });

  it.each([
    ['with an owner that has ended is removed', { owner: { pid: 1, start: '0' }, holder: null, isKept: true }, true],
    ['with one that is there stays', { owner: identify(process.pid), holder: null, isKept: false }, false],
  ])('of an older form %s', async (_, record, isRemoved) => {
    const place = claimPlace({ isKept: false });
    writeFileSync(join(place.folder, 'record.json'), JSON.stringify(record));
    expect(await removeLeftovers()).toEqual(isRemoved ? [place.id] : []);
  });

  it('that was claimed first is promised what it will take until it is whole, and waits for nobody after it', () => {
    const claims = [claimPlace({ isKept: false, inotify: 14 }), claimPlace({ isKept: true, inotify: 14 })] as const;
    expect(ownClusters()).toHaveLength(2);
    // Both may have been claimed in the same millisecond.
    const [first, second] = promisedInotify(claims[0]) === 0 ? claims : [claims[1], claims[0]];
    expect([promisedInotify(first), promisedInotify(second)]).toEqual([0, 14]);
    settle(first);
    expect(promisedInotify(second)).toBe(0);
  });

  it('goes with the cache of a test that failed before it took it down, and so does one of another session', async () => {
    const { place, network } = await furnishedBox();
    const { made } = await anotherSession('--kept', '--settled');
    await cache[Symbol.asyncDispose]();
    await expectNothingLeft(place, network);
    await expectNothingLeft(made, made.network);
    expect(existsSync(cache.path)).toBe(false);
  });

  it('ends a daemon that has not begun yet, or is about to end by itself', async () => {
    const { place, box } = await furnishedBox();
    for (let turn = 0; turn < 5; turn += 1) {
      await box.start('endless', INIT).stop();
      await box.start('short', ['true']).stop();
    }
    await removeCluster(place);
  });

  it('says what went wrong when it cannot be made', async () => {
    const place = claimPlace({ isKept: false });
    const prepare = ['ip link add pods type nonsense'];
    const made = Box.make({ folder: place.folder, init: INIT, prepare, isKept: false, whenHeld: () => {} });
    await expect(made).rejects.toThrow(/the namespaces of a cluster could not be made: .*[Uu]nknown device type/s);
    await removeCluster(place);
  });
});
