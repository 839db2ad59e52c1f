import { describe, expect, it } from 'vitest';
import { identifyFileSystem } from './file-systems.ts';
import { mountOfPath, parseMountTable } from './mount-table.ts';
import { mountOfKubelet, placeOf } from './place.ts';

/** The mount table of a container in a pod, with volumes of every kind. */
const POD = `600 500 0:97 / / rw,relatime - overlay overlay rw,upperdir=/u
602 600 259:1 /var/lib/kubelet/pods/8a1f-22/etc-hosts /etc/hosts rw,relatime - ext4 /dev/nvme0n1p1 rw
603 600 259:1 /var/lib/kubelet/pods/8a1f-22/containers/train/5b0c1d2e /dev/termination-log rw,relatime - ext4 /dev/nvme0n1p1 rw
610 600 259:1 /var/lib/kubelet/pods/8a1f-22/volumes/kubernetes.io~empty-dir/scratch /scratch rw - ext4 /dev/nvme0n1p1 rw
611 600 0:71 / /dev/shm rw - tmpfs tmpfs rw,size=8g
612 600 259:1 /mnt/cache /host-cache rw - ext4 /dev/nvme0n1p1 rw
613 600 259:9 / /checkpoints rw - ext4 /dev/nvme3n1 rw
614 600 0:80 / /shared rw - nfs4 fs-1:/ rw
615 600 0:81 / /bucket rw - fuse.gcsfuse my-bucket rw
616 600 0:82 / /other rw - fuse something rw
`;
const MAGIC: Readonly<Record<string, number>> = { overlay: 0x794c7630, ext4: 0xef53, tmpfs: 0x01021994, nfs4: 0x6969 };

const place = (path: string, table: string) => {
  const mounts = parseMountTable(table);
  const mount = mountOfPath(path, mounts);
  const kubelet = mountOfKubelet(mounts);
  const fileSystem = identifyFileSystem({ magic: MAGIC[mount?.type ?? ''] ?? 0x65735546, mount });
  return placeOf({ fileSystem, realPath: path, mount, nodeDevice: kubelet?.device ?? null, isInPod: kubelet !== null });
};

describe('placeOf, in a pod', () => {
  it.each([
    ['the root of the container', '/root/checkpoints', 'container-layer', 'no', true],
    ['an emptyDir', '/scratch/run', 'empty-dir', 'no', true],
    ['an emptyDir in memory', '/dev/shm', 'memory', 'no', false],
    ['a hostPath on the disk of the node', '/host-cache', 'node-disk', 'yes', true],
    ['a volume with a disk of its own', '/checkpoints', 'volume', 'likely', false],
    ['a network file system', '/shared/run', 'network', 'yes', false],
    ['a bucket', '/bucket', 'object-store', 'yes', false],
    ['FUSE that does not say what it is', '/other', 'unknown', 'unknown', false],
  ])('tells %s', (_, path, id, survivesPod, isOnNodeDisk) => {
    expect(place(path, POD)).toMatchObject({ id, survivesPod, isOnNodeDisk });
  });

  it('knows an emptyDir even if the kubelet keeps its pods on a separate disk', () => {
    const table = POD.replaceAll('/var/lib/kubelet/pods/', '/pods/');
    expect(place('/scratch', table).id).toBe('empty-dir');
    expect(place('/host-cache', table).id).toBe('node-disk');
  });

  it('finds the disk of the node by the termination log if /etc/hosts does not come from the kubelet', () => {
    const table = POD.split('\n')
      .filter((line) => !line.includes('etc-hosts'))
      .join('\n');
    expect(place('/host-cache', table).id).toBe('node-disk');
  });
});

describe('placeOf, outside of pods', () => {
  const HOST = '27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n';

  it('calls it a disk of this machine', () => {
    expect(place('/home/me', HOST)).toMatchObject({ id: 'machine', survivesPod: 'not-in-pod', isOnNodeDisk: false });
  });

  it('knows an emptyDir on the node by its path', () => {
    expect(place('/var/lib/kubelet/pods/8a1f/volumes/kubernetes.io~empty-dir/scratch/run', HOST).id).toBe('empty-dir');
  });
});
