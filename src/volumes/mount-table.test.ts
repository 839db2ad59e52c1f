import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Mount, mountOfPath, parseMountTable } from './mount-table.ts';

/** As in a container: an overlay root, an emptyDir, a PVC, and a volume mounted over another. */
const TABLE = String.raw`600 500 0:97 / / rw,relatime master:230 - overlay overlay rw,lowerdir=/l1:/l2,upperdir=/u,workdir=/w
601 600 0:100 / /proc rw,nosuid - proc proc rw
610 600 259:1 /var/lib/kubelet/pods/8a1f/volumes/kubernetes.io~empty-dir/scratch /scratch rw,relatime - ext4 /dev/nvme0n1p1 rw,discard
611 600 259:3 / /data rw,relatime shared:4 master:9 - xfs /dev/nvme2n1 rw,attr2
612 611 0:55 /export /data/with\040space\011and\134more rw,relatime - nfs4 10.0.0.2:/export rw,vers=4.1,hard
613 600 0:60 / /data rw - fuse.s3fs s3fs rw,user_id=0
`;

describe('parseMountTable', () => {
  it('reads root, mount point, type, source and options, with any number of optional fields', () => {
    const mounts = parseMountTable(TABLE);
    expect(mounts).toHaveLength(6);
    expect(mounts[3]).toEqual({
      id: 611,
      device: '259:3',
      root: '/',
      mountPoint: '/data',
      options: ['rw', 'relatime'],
      type: 'xfs',
      source: '/dev/nvme2n1',
      superOptions: ['rw', 'attr2'],
    } satisfies Mount);
    expect(mounts[4]?.mountPoint).toBe('/data/with space\tand\\more');
  });

  it('reads the table of this machine', () => {
    const text = readFileSync('/proc/self/mountinfo', 'utf8');
    const mounts = parseMountTable(text);
    expect(mounts).toHaveLength(text.trimEnd().split('\n').length);
    expect(mountOfPath('/', mounts)?.mountPoint).toBe('/');
  });

  it('reads back any path that the kernel wrote', () => {
    const path = fc.string({ unit: 'grapheme' }).map((name) => `/${name}`);
    fc.assert(
      fc.property(path, path, (root, mountPoint) => {
        const written = [root, mountPoint].map((text) =>
          text.replaceAll(/[ \t\n\\]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`),
        );
        const [mount] = parseMountTable(`1 2 8:1 ${written.join(' ')} rw - ext4 /dev/sda rw\n`);
        expect(mount).toMatchObject({ root, mountPoint });
      }),
    );
  });

  it('never throws, and skips lines that do not belong to the table', () => {
    expect(parseMountTable('nonsense\n\n1 2 3')).toEqual([]);
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseMountTable(text)).toEqual(expect.any(Array));
      }),
    );
  });
});

describe('mountOfPath', () => {
  it.each([
    ['/', 'overlay'],
    ['/scratch/run', 'ext4'],
    ['/scratches', 'overlay'],
    ['/data/run', 'fuse.s3fs'],
    ['/data/with space\tand\\more/x', 'nfs4'],
  ])('finds the deepest mount for %s, and the last of two mounts on one path', (path, type) => {
    expect(mountOfPath(path, parseMountTable(TABLE))?.type).toBe(type);
  });

  it('finds nothing without a mount table', () => {
    expect(mountOfPath('/data', [])).toBeNull();
  });
});
