import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ProbeReport } from '../../src/volumes/probe-report.ts';
import { LAUNCHER, runProcess } from '../support/run-process.ts';
import { type LoopKind, mountFuse, mountLoop, mountOverlay, mountTmpfs, whyNoFuse, whyNoLoop, whyNoMounts } from '../support/mounts.ts';

async function probe(path: string, ...args: readonly string[]): Promise<ProbeReport & { readonly code: number | null }> {
  const { code, stdout, stderr } = await runProcess(LAUNCHER, ['probe', '--json', '--bytes=1MiB', '--rounds=2', ...args, path]);
  expect(stderr).toBe('');
  return { ...(JSON.parse(stdout) as ProbeReport), code };
}

const codes = ({ warnings }: ProbeReport): string[] => warnings.map(({ code }) => code);
const skipped = (reason: string | null): string => (reason === null ? '' : ` (skipped: ${reason})`);

describe.each<[LoopKind, 'rename' | 'manifest-last']>([
  ['ext4', 'rename'],
  ['ext3', 'rename'],
  ['ext2', 'manifest-last'],
  ['xfs', 'rename'],
  ['btrfs', 'rename'],
])('a loop-mounted %s', (kind, protocol) => {
  const reason = whyNoLoop(kind);

  it.skipIf(reason !== null)(`is recognised, tried, measured, and left unchanged${skipped(reason)}`, async () => {
    using mount = mountLoop(kind);
    const before = readdirSync(mount.path);
    const report = await probe(mount.path);
    expect(report).toMatchObject({
      code: protocol === 'rename' ? 0 : 1,
      fileSystem: { id: kind, type: kind, mountPoint: mount.path, powerLoss: 'survives', isReadOnly: false },
      place: { id: 'machine', survivesPod: 'not-in-pod' },
      commit: { protocol },
      space: { isReal: true, evictionLine: null, limitedBy: 'disk' },
      notMeasured: null,
    });
    expect(Object.values(report.capabilities ?? {}).every(({ outcome }) => outcome === 'works')).toBe(true);
    expect(report.bandwidth?.medianBytesPerSecond).toBeGreaterThan(0);
    expect(report.syncLatency?.p95Ms).toBeGreaterThan(0);
    expect(readdirSync(mount.path)).toEqual(before);
  });

  it.skipIf(reason !== null)(`is refused when it is mounted read-only${skipped(reason)}`, async () => {
    using mount = mountLoop(kind, 'loop,ro');
    const report = await probe(mount.path);
    expect(report).toMatchObject({
      code: 1,
      fileSystem: { isReadOnly: true },
      commit: { protocol: 'refuse' },
      capabilities: null,
      bandwidth: null,
    });
    expect(codes(report)).toContain('NO_COMMIT');
  });
});

describe('room on real file systems', () => {
  const reason = whyNoLoop('ext4') ?? whyNoLoop('btrfs');

  it.skipIf(reason !== null)(`ext4 keeps blocks for root, which do not count as room${skipped(reason)}`, async () => {
    using mount = mountLoop('ext4');
    const { space } = await probe(mount.path, '--quick');
    expect(space.reservedBytes).toBeGreaterThan(0);
    expect(space.usableBytes).toBe(space.availableBytes);
    const { space: lined } = await probe(mount.path, '--quick', '--eviction-line=10%');
    expect(lined).toMatchObject({ usableBytes: lined.availableBytes - Math.ceil(lined.totalBytes / 10), limitedBy: 'eviction-line' });
    expect(lined.usableFiles).toBe(lined.freeInodes - Math.ceil(lined.totalInodes / 20));
  });

  it.skipIf(reason !== null)(`Btrfs does not count inodes${skipped(reason)}`, async () => {
    using mount = mountLoop('btrfs');
    expect((await probe(mount.path, '--quick')).space).toMatchObject({ totalInodes: 0, usableFiles: null });
  });

  it.skipIf(reason !== null)(`a round never takes more than a twentieth of the room${skipped(reason)}`, async () => {
    using mount = mountLoop('ext4');
    const { bandwidth, space } = await probe(mount.path, '--bytes=1GiB', '--rounds=1');
    expect(bandwidth?.bytesPerRound).toBeLessThanOrEqual(space.usableBytes / 20);
  });
});

describe('a folder without write permission', () => {
  const reason = whyNoMounts();

  it.skipIf(reason !== null)(`is refused, with the reason of the system and all facts that need no write${skipped(reason)}`, async () => {
    using mount = mountTmpfs('size=64m,mode=755');
    const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups', LAUNCHER, 'probe', '--json', mount.path];
    const { code, stdout, stderr } = await runProcess('setpriv', nobody);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      fileSystem: { id: 'tmpfs' },
      commit: { protocol: 'refuse', reason: 'Nothing can be written here (EACCES).' },
      capabilities: { write: { outcome: 'refused', detail: 'EACCES' }, syncFile: { outcome: 'not-tried' } },
      bandwidth: null,
    });
  });
});

describe('storage that dies with the pod', () => {
  const reason = whyNoMounts();
  const noOverlay = whyNoLoop('ext4');

  it.skipIf(reason !== null)(`tmpfs: memory, with a loud warning and without an eviction line${skipped(reason)}`, async () => {
    using mount = mountTmpfs();
    const report = await probe(mount.path);
    expect(report).toMatchObject({
      code: 0,
      fileSystem: { id: 'tmpfs', powerLoss: 'lost' },
      place: { id: 'memory', survivesPod: 'no' },
      space: { evictionLine: null },
    });
    expect(codes(report)).toEqual(expect.arrayContaining(['DIES_WITH_POD', 'NOT_DURABLE']));
  });

  it.skipIf(noOverlay !== null)(
    `overlay: the layer of a container, with a loud warning and the eviction line${skipped(noOverlay)}`,
    async () => {
      using mount = mountOverlay();
      const report = await probe(mount.path);
      expect(report).toMatchObject({
        code: 0,
        fileSystem: { id: 'overlay' },
        place: { id: 'container-layer', survivesPod: 'no' },
        commit: { protocol: 'rename' },
        space: { evictionLine: { signal: 'nodefs.available', text: '10 %' }, limitedBy: 'eviction-line' },
      });
      expect(codes(report)).toContain('DIES_WITH_POD');
    },
  );

  it.skipIf(noOverlay !== null)(`overlay: the output starts with the warning and fits on one screen${skipped(noOverlay)}`, async () => {
    using mount = mountOverlay();
    const { stdout } = await runProcess(LAUNCHER, ['probe', '--bytes=1MiB', '--rounds=2', mount.path]);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toBe(`${mount.path}: not a safe place for checkpoints.`);
    expect(lines[2]).toMatch(/^ {2}! DIES_WITH_POD: Checkpoints here die with the container: this is the writable layer/);
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(stdout).toContain('down to the eviction line');
  });

  it.skipIf(noOverlay !== null)(`overlay without real syncs is recognised by its option${skipped(noOverlay)}`, async () => {
    using mount = mountOverlay(['volatile']);
    expect(codes(await probe(mount.path, '--quick'))).toContain('MOUNT_OPTION');
  });
});

describe('FUSE', () => {
  const reason = whyNoFuse();

  it.skipIf(reason !== null)(`of an unknown kind gets the careful protocol, although everything works${skipped(reason)}`, async () => {
    using mount = mountFuse();
    const report = await probe(mount.path);
    expect(report).toMatchObject({ code: 1, fileSystem: { id: 'fuse', magic: '0x65735546' }, commit: { protocol: 'manifest-last' } });
    expect(report.capabilities?.renameFolder.outcome).toBe('works');
    expect(report.bandwidth?.rounds).toHaveLength(2);
  });

  it.skipIf(reason !== null)(`that refuses renames is detected by an attempt${skipped(reason)}`, async () => {
    using mount = mountFuse({ flags: ['--rename-deny'] });
    const report = await probe(mount.path, '--quick');
    expect(report).toMatchObject({
      code: 1,
      commit: { protocol: 'manifest-last' },
      capabilities: { renameFolder: { outcome: 'refused', detail: 'EPERM' } },
    });
  });

  it.skipIf(reason !== null)(`that forbids deletes is not measured, and the leftover is reported${skipped(reason)}`, async () => {
    using mount = mountFuse({ flags: ['--delete-deny'] });
    const report = await probe(mount.path);
    expect(report).toMatchObject({ capabilities: { remove: { outcome: 'refused' } }, bandwidth: null });
    expect(codes(report)).toContain('LEFT_BEHIND');
  });

  it.skipIf(reason !== null).each([
    ['gcsfuse', 'manifest-last'],
    ['s3fs', 'manifest-last'],
    ['mountpoint-s3', 'refuse'],
  ])(`with the name %s in the kernel's table is recognised${skipped(reason)}`, async (subtype, protocol) => {
    using mount = mountFuse({ subtype });
    const report = await probe(mount.path, '--quick');
    expect(report).toMatchObject({
      code: 1,
      fileSystem: { id: subtype, type: `fuse.${subtype}` },
      place: { id: 'object-store' },
      commit: { protocol, wayOut: expect.any(String) },
      space: { isReal: false },
    });
    expect(codes(report)).toContain('SPACE_NOT_KNOWN');
    expect(readdirSync(mount.path)).toEqual([]);
  });

  it.skipIf(reason !== null)(`that fills up during a measurement fails with a code, and leaves no file${skipped(reason)}`, async () => {
    using small = mountTmpfs('size=4m');
    using mount = mountFuse({ subtype: 's3fs', behind: small.path });
    const { code, stderr } = await runProcess(LAUNCHER, ['probe', mount.path]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error STORAGE_FAILED: writing .* failed: ENOSPC\n/);
    expect(readdirSync(small.path)).toEqual([]);
  });
});
