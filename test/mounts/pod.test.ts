import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ProbeReport } from '../../src/volumes/probe-report.ts';
import { mountLoop, whyNoLoop } from '../support/mounts.ts';
import { LAUNCHER, runProcess } from '../support/run-process.ts';
import { tempFolder } from '../support/temp-folder.ts';

const POD = 'var/lib/kubelet/pods/8a1f22cc-0000-4000-8000-000000000001';
const EMPTY_DIR = `${POD}/volumes/kubernetes.io~empty-dir/scratch`;

/**
 * Probes a path in a mount namespace of its own. Its volumes are mounted as the kubelet mounts them
 * into a container: binds of folders of the node's disk, and another disk.
 */
async function probeInPod(
  path: 'empty-dir' | 'empty-dir/run' | 'host-path' | 'volume' | 'layer' | 'image-layer',
  env: Readonly<Record<string, string>> = {},
): Promise<ProbeReport> {
  using node = mountLoop('ext4');
  using disk = mountLoop('ext3');
  using root = tempFolder();
  for (const folder of [EMPTY_DIR, 'mnt/cache']) mkdirSync(join(node.path, folder), { recursive: true });
  for (const { path: place } of [node, disk]) for (const folder of ['lower', 'upper', 'work']) mkdirSync(join(place, folder));
  for (const folder of ['empty-dir', 'host-path', 'volume', 'layer', 'image-layer']) mkdirSync(join(root.path, folder));
  writeFileSync(join(node.path, POD, 'etc-hosts'), '127.0.0.1 localhost\n');
  const script = `set -e
    mount --make-rprivate /
    mount --bind '${node.path}/${POD}/etc-hosts' /etc/hosts
    mount --bind '${node.path}/${EMPTY_DIR}' '${root.path}/empty-dir'
    mkdir -p '${root.path}/empty-dir/run'
    mount --bind '${node.path}/mnt/cache' '${root.path}/host-path'
    mount --bind '${disk.path}' '${root.path}/volume'
    mount -t overlay -o '${layersOn(node.path)}' overlay '${root.path}/layer'
    mount -t overlay -o '${layersOn(disk.path)}' overlay '${root.path}/image-layer'
    head -c 3000000 /dev/urandom > '${root.path}/empty-dir/written'
    exec '${LAUNCHER}' probe --quick --json '${root.path}/${path}'`;
  const { code, stdout, stderr } = await runProcess('unshare', ['--mount', 'bash', '-c', script], {
    env: { PATH: process.env['PATH'], ...env },
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as ProbeReport;
}

const layersOn = (disk: string): string => `lowerdir=${disk}/lower,upperdir=${disk}/upper,workdir=${disk}/work`;

const reason = whyNoLoop('ext4');

describe(`volumes mounted as in a pod${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  const test = it.skipIf(reason !== null);

  test('an emptyDir dies with the pod, and has the eviction line of the node', async () => {
    for (const path of ['empty-dir', 'empty-dir/run'] as const) {
      const report = await probeInPod(path);
      expect(report).toMatchObject({
        fileSystem: { id: 'ext4' },
        place: { id: 'empty-dir', survivesPod: 'no' },
        space: { evictionLine: { signal: 'nodefs.available', text: '10 %' }, ephemeral: null },
      });
      expect(report.warnings.map(({ code, level }) => `${code} ${level}`)).toContain('DIES_WITH_POD loud');
    }
  });

  test('the limit of the pod counts there, minus the use of the volume', async () => {
    const { space } = await probeInPod('empty-dir/run', { HOLDFAST_EPHEMERAL_LIMIT: '5000000' });
    expect(space.ephemeral?.limitBytes).toBe(5_000_000);
    expect(space.ephemeral?.usedBytes).toBeGreaterThanOrEqual(3_000_000);
    expect(space).toMatchObject({ limitedBy: 'ephemeral-limit', usableBytes: 5_000_000 - (space.ephemeral?.usedBytes ?? 0) });
  });

  test('a hostPath survives the pod on this node only, and has the line', async () => {
    const report = await probeInPod('host-path', { HOLDFAST_EPHEMERAL_LIMIT: '5000000' });
    expect(report).toMatchObject({
      place: { id: 'node-disk', survivesPod: 'yes' },
      space: { evictionLine: { text: '10 %' }, ephemeral: null },
    });
    expect(report.warnings.map(({ code }) => code)).toEqual(['ONLY_ON_THIS_NODE']);
  });

  test('a volume on its own disk has no line', async () => {
    const report = await probeInPod('volume');
    expect(report).toMatchObject({ place: { id: 'volume', survivesPod: 'likely' }, space: { evictionLine: null }, warnings: [] });
  });

  test('the layer of the container is on the disk of the node when that reports the same size', async () => {
    expect(await probeInPod('layer')).toMatchObject({
      place: { id: 'container-layer', survivesPod: 'no' },
      space: { evictionLine: { signal: 'nodefs.available', text: '10 %' } },
    });
  });

  test('layers on their own disk have the eviction line of the images', async () => {
    expect(await probeInPod('image-layer')).toMatchObject({
      place: { id: 'container-layer', survivesPod: 'no' },
      space: { evictionLine: { signal: 'imagefs.available', text: '15 %' } },
    });
  });
});
