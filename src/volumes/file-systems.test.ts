import { describe, expect, it } from 'vitest';
import { FILE_SYSTEMS, identifyFileSystem } from './file-systems.ts';

const FUSE = 0x65735546;

describe('identifyFileSystem', () => {
  it.each([
    ['ext4', 0xef53, 'ext4', '/dev/sda1'],
    ['ext2', 0xef53, 'ext2', '/dev/sda1'],
    ['xfs', 0x58465342, 'xfs', '/dev/sdb'],
    ['btrfs', 0x9123683e, 'btrfs', '/dev/sdb'],
    ['zfs', 0x2fc12fc1, 'zfs', 'tank/data'],
    ['nfs', 0x6969, 'nfs4', 'server:/export'],
    ['lustre', 0x0bd00bd0, 'lustre', '10.0.0.1@tcp:/scratch'],
    ['overlay', 0x794c7630, 'overlay', 'overlay'],
    ['tmpfs', 0x01021994, 'tmpfs', 'tmpfs'],
    ['cifs', 0xff534d42, 'cifs', '//server/share'],
    ['9p', 0x01021997, '9p', 'host'],
    ['virtiofs', FUSE, 'virtiofs', 'share'],
    ['gcsfuse', FUSE, 'fuse.gcsfuse', 'my-bucket'],
    ['mountpoint-s3', FUSE, 'fuse', 'mountpoint-s3'],
    ['s3fs', FUSE, 'fuse.s3fs', 's3fs'],
    ['blobfuse', FUSE, 'fuse', 'blobfuse2'],
    ['glusterfs', FUSE, 'fuse.glusterfs', 'server:/volume'],
    ['overlay', FUSE, 'fuse.fuse-overlayfs', 'fuse-overlayfs'],
    ['ceph', FUSE, 'fuse.ceph-fuse', 'ceph-fuse'],
  ])('knows %s', (id, magic, type, source) => {
    expect(identifyFileSystem({ magic, mount: { type, source } }).id).toBe(id);
  });

  it('calls a FUSE mount without a known program just FUSE', () => {
    expect(identifyFileSystem({ magic: FUSE, mount: { type: 'fuse', source: 'some-bucket' } }).id).toBe('fuse');
    expect(identifyFileSystem({ magic: FUSE, mount: { type: 'fuse.brandnew', source: 'x' } }).id).toBe('fuse');
    expect(identifyFileSystem({ magic: FUSE, mount: null }).id).toBe('fuse');
  });

  it('uses the number of statfs if there is no mount table, or if the table says something else', () => {
    expect(identifyFileSystem({ magic: 0x58465342, mount: null }).id).toBe('xfs');
    expect(identifyFileSystem({ magic: 0x01021994, mount: { type: 'ext4', source: '/dev/sda1' } }).id).toBe('tmpfs');
  });

  it('assumes nothing of a kind it does not know', () => {
    expect(identifyFileSystem({ magic: 1, mount: { type: 'newfs', source: 'x' } })).toMatchObject({
      id: 'unknown',
      rename: 'unknown',
      powerLoss: 'unknown',
    });
  });
});

describe('the table of file systems', () => {
  it('has every id and every name in the mount table once', () => {
    const ids = FILE_SYSTEMS.map(({ id }) => id);
    const types = FILE_SYSTEMS.flatMap((kind) => kind.types);
    expect([new Set(ids).size, new Set(types).size]).toEqual([ids.length, types.length]);
  });

  it('never relies on a bucket for a rename or for its free space', () => {
    for (const kind of FILE_SYSTEMS.filter(({ home }) => home === 'object-store')) {
      expect([kind.rename === 'atomic', kind.hasRealSpace], kind.id).toEqual([false, false]);
    }
  });
});
