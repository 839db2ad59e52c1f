import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROOT } from '../support/run-process.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { Box } from './cluster/box.ts';
import { makeCgroup } from './cluster/cgroups.ts';
import { whyNoNamespaces } from './cluster/facility.ts';
import { cgroupOf, claimPlace, keptClusters, recordHolder, removeCluster, removeLeftovers } from './cluster/leftovers.ts';
import { prepareNetwork } from './cluster/network.ts';
import { NO_TRACES, networkOf, tracesOf } from './cluster/traces.ts';
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
async function furnishedBox(isKept = false): Promise<{ place: ReturnType<typeof claimPlace>; box: Box; network: string }> {
  const place = claimPlace(isKept);
  const whenHeld = (holder: Box['holder']): void => recordHolder(place, holder, isKept);
  const box = await Box.make({ folder: place.folder, init: INIT, prepare: prepareNetwork(1), isKept, whenHeld });
  const [image, disk] = [join(place.folder, 'disk.img'), join(place.folder, 'disk')];
  mkdirSync(disk);
  writeFileSync(image, '');
  truncateSync(image, 32 << 20);
  await box.run(['mkfs.ext4', '-q', image]);
  await box.run(['mount', '-o', 'loop', image, disk]);
  makeCgroup(`${cgroupOf(place.id)}/node-1`);
  box.start('sleeper', ['sleep', 'infinity']);
  const network = await eventually('the network of the box', async () => (await box.run(['readlink', '/proc/self/ns/net'])).trim());
  return { place, box, network };
}

const seen = (place: ReturnType<typeof claimPlace>, network: string): ReturnType<typeof tracesOf> =>
  tracesOf({ folder: place.folder, cgroup: cgroupOf(place.id), network });

describe.skipIf(reason !== null)(`a box${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cache: ReturnType<typeof tempFolder>;
  beforeEach(() => {
    // Clusters of other sessions, and a person's own, lie elsewhere.
    cache = tempFolder();
    process.env['HOLDFAST_CACHE'] = cache.path;
  });
  afterEach(async () => {
    for (const place of keptClusters()) await removeCluster(place);
    await removeLeftovers();
    delete process.env['HOLDFAST_CACHE'];
    cache[Symbol.dispose]();
  });

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
    await eventually('nothing to be left', () => (JSON.stringify(seen(place, network)) === JSON.stringify(NO_TRACES) ? true : null));
    expect(existsSync(place.folder)).toBe(false);
  });

  it('ends with the process that made it, also by SIGKILL, and the next start removes the rest', async () => {
    const maker = spawn(process.execPath, [join(ROOT, 'test/kubernetes/cluster/make-box.ts')], {
      env: { PATH: process.env['PATH'], HOLDFAST_CACHE: cache.path },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(createInterface({ input: maker.stdout }), 'line')) as [string];
    const { id, folder, network } = JSON.parse(line) as { id: string; folder: string; network: string };
    const place = { id, folder };
    expect(seen(place, network).processes.length).toBeGreaterThan(1);
    expect(await removeLeftovers()).toEqual([]);
    maker.kill('SIGKILL');
    await once(maker, 'exit');
    await eventually('its processes to end', () => (seen(place, network).processes.length === 0 ? true : null));
    expect(seen(place, network).cgroups).toEqual([cgroupOf(id)]);
    expect(await removeLeftovers()).toEqual([id]);
    await eventually('nothing to be left', () => (JSON.stringify(seen(place, network)) === JSON.stringify(NO_TRACES) ? true : null));
    expect(existsSync(folder)).toBe(false);
  });

  it('says what went wrong when it cannot be made', async () => {
    const place = claimPlace(false);
    const prepare = ['ip link add pods type nonsense'];
    const made = Box.make({ folder: place.folder, init: INIT, prepare, isKept: false, whenHeld: () => {} });
    await expect(made).rejects.toThrow(/the namespaces of a cluster could not be made: .*[Uu]nknown device type/s);
    await removeCluster(place);
  });
});
