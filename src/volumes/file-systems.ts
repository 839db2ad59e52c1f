/** What a file system does when a folder is renamed. */
export type RenameRule =
  /** One step for every reader; after a crash the old name or the new one. */
  | 'atomic'
  /** One step for every reader, but a power cut in the middle may leave neither name or both. */
  | 'not-crash-safe'
  /** The system copies and deletes every file: readers see half of it. */
  | 'copies'
  | 'refused'
  | 'unknown';

/** What a power cut leaves of synced data. */
export type PowerLoss =
  | 'survives'
  /** The server decides; a client cannot check it. */
  | 'server'
  | 'lost'
  | 'unknown';

/** The place of the bytes. */
export type Home = 'disk' | 'network' | 'object-store' | 'memory' | 'layer' | 'image' | 'unknown';

/** A kind of file system and its rules. */
export interface FileSystem {
  readonly id: string;
  /** For people. */
  readonly title: string;
  /** Names in the mount table. */
  readonly types: readonly string[];
  /** For `fuse` without a name of its own: the form of the mount's source. */
  readonly source?: RegExp;
  /** The number from `statfs`. Several kinds may share one number. */
  readonly magics: readonly number[];
  readonly rename: RenameRule;
  readonly powerLoss: PowerLoss;
  readonly home: Home;
  /** False if its reported free space is an invention. */
  readonly hasRealSpace: boolean;
  /** The important fact, in a sentence. */
  readonly note: string;
}

const EXT = 0xef53;
/** Any FUSE file system. */
export const FUSE_MAGIC = 0x65735546;

const LOCAL = { rename: 'atomic', powerLoss: 'survives', home: 'disk', hasRealSpace: true } as const;
const SHARED = { rename: 'atomic', powerLoss: 'server', home: 'network', hasRealSpace: true } as const;
const BUCKET = { magics: [FUSE_MAGIC], rename: 'copies', powerLoss: 'server', home: 'object-store', hasRealSpace: false } as const;
const IMAGE = { rename: 'refused', powerLoss: 'survives', home: 'image', hasRealSpace: true, note: 'Read-only by its nature.' } as const;

const BUCKET_NOTE = 'A folder is renamed object by object, so a rename is not a commit.';

/** Every known kind. The first match counts, so the more specific one comes first. */
export const FILE_SYSTEMS: readonly FileSystem[] = [
  { id: 'ext4', title: 'ext4', types: ['ext4'], magics: [EXT], ...LOCAL, note: 'Journaled; what was synced stays.' },
  { id: 'ext3', title: 'ext3', types: ['ext3'], magics: [EXT], ...LOCAL, note: 'Journaled; one sync writes out everything that is dirty.' },
  {
    id: 'ext2',
    title: 'ext2',
    types: ['ext2'],
    magics: [EXT],
    ...LOCAL,
    rename: 'not-crash-safe',
    note: 'No journal: a power cut in the middle of a rename is left to fsck.',
  },
  {
    id: 'xfs',
    title: 'XFS',
    types: ['xfs'],
    magics: [0x58465342],
    ...LOCAL,
    note: 'Journaled; what was synced stays, nothing else is promised.',
  },
  { id: 'btrfs', title: 'Btrfs', types: ['btrfs'], magics: [0x9123683e], ...LOCAL, note: 'Copy on write; its free space is an estimate.' },
  {
    id: 'zfs',
    title: 'ZFS',
    types: ['zfs'],
    magics: [0x2fc12fc1],
    ...LOCAL,
    note: 'Copy on write; with sync=disabled it loses the last seconds.',
  },
  { id: 'f2fs', title: 'F2FS', types: ['f2fs'], magics: [0xf2f52010], ...LOCAL, note: 'For flash; what was synced stays.' },
  { id: 'bcachefs', title: 'bcachefs', types: ['bcachefs'], magics: [0xca451a4e], ...LOCAL, note: 'Copy on write; what was synced stays.' },
  { id: 'apfs', title: 'APFS', types: ['apfs'], magics: [0x1a], ...LOCAL, note: 'The disk of a Mac.' },
  {
    id: 'nfs',
    title: 'NFS',
    types: ['nfs', 'nfs4'],
    magics: [0x6969],
    ...SHARED,
    note: 'Other nodes may see a new name seconds later; the options of the export decide whether synced bytes survive a crash of the server.',
  },
  {
    id: 'lustre',
    title: 'Lustre',
    types: ['lustre'],
    magics: [0x0bd00bd0],
    ...SHARED,
    note: 'One full target fails a write while others have room.',
  },
  { id: 'gpfs', title: 'IBM Storage Scale', types: ['gpfs'], magics: [0x47504653], ...SHARED, note: 'A POSIX cluster file system.' },
  { id: 'beegfs', title: 'BeeGFS', types: ['beegfs'], magics: [0x19830326], ...SHARED, note: 'A POSIX cluster file system.' },
  { id: 'weka', title: 'WEKA', types: ['wekafs'], magics: [], ...SHARED, note: 'A POSIX cluster file system.' },
  {
    id: 'ceph',
    title: 'CephFS',
    types: ['ceph', 'fuse.ceph-fuse', 'fuse.ceph'],
    magics: [0x00c36400, FUSE_MAGIC],
    ...SHARED,
    note: 'A POSIX cluster file system.',
  },
  {
    id: 'glusterfs',
    title: 'GlusterFS',
    types: ['fuse.glusterfs'],
    magics: [FUSE_MAGIC],
    ...SHARED,
    note: 'A rename between bricks is not one step after a crash.',
    rename: 'not-crash-safe',
  },
  {
    id: 'juicefs',
    title: 'JuiceFS',
    types: ['fuse.juicefs'],
    magics: [FUSE_MAGIC],
    ...SHARED,
    note: 'Names live in its database, bytes in a bucket.',
  },
  {
    id: 'cifs',
    title: 'SMB',
    types: ['cifs', 'smb3', 'smbfs'],
    magics: [0xff534d42, 0xfe534d42, 0x517b],
    ...SHARED,
    note: 'A rename fails while a process has a file below it open.',
  },
  {
    id: '9p',
    title: '9P',
    types: ['9p'],
    magics: [0x01021997],
    ...SHARED,
    powerLoss: 'unknown',
    note: 'A folder of the host; its durability is the host’s.',
  },
  {
    id: 'virtiofs',
    title: 'virtiofs',
    types: ['virtiofs'],
    magics: [FUSE_MAGIC],
    ...SHARED,
    powerLoss: 'unknown',
    note: 'A folder of the host; its durability is the host’s.',
  },
  {
    id: 'overlay',
    title: 'overlay',
    types: ['overlay', 'fuse.fuse-overlayfs', 'aufs'],
    magics: [0x794c7630, 0x61756673, FUSE_MAGIC],
    ...LOCAL,
    home: 'layer',
    note: 'The writable layer of a container: gone when the container is.',
  },
  {
    id: 'tmpfs',
    title: 'tmpfs',
    types: ['tmpfs', 'ramfs'],
    magics: [0x01021994, 0x858458f6],
    rename: 'atomic',
    powerLoss: 'lost',
    home: 'memory',
    hasRealSpace: true,
    note: 'Memory, counted against the memory limit of the pod.',
  },
  {
    id: 'gcsfuse',
    title: 'Cloud Storage FUSE',
    types: ['fuse.gcsfuse'],
    ...BUCKET,
    note: `${BUCKET_NOTE} From version 3 an object is final only when its file is closed.`,
  },
  {
    id: 'mountpoint-s3',
    title: 'Mountpoint for Amazon S3',
    types: ['fuse.mountpoint-s3', 'fuse.mount-s3'],
    source: /^mountpoint-s3$/,
    ...BUCKET,
    rename: 'refused',
    note: 'Files are written once from start to end; nothing can be renamed or changed.',
  },
  { id: 's3fs', title: 's3fs', types: ['fuse.s3fs'], source: /^s3fs$/, ...BUCKET, note: BUCKET_NOTE },
  { id: 'goofys', title: 'goofys', types: ['fuse.goofys', 'fuse.geesefs'], ...BUCKET, note: BUCKET_NOTE },
  { id: 'rclone', title: 'rclone mount', types: ['fuse.rclone'], ...BUCKET, note: BUCKET_NOTE },
  { id: 'blobfuse', title: 'BlobFuse', types: ['fuse.blobfuse', 'fuse.blobfuse2'], source: /^blobfuse2?$/, ...BUCKET, note: BUCKET_NOTE },
  {
    id: 'sshfs',
    title: 'SSHFS',
    types: ['fuse.sshfs'],
    magics: [FUSE_MAGIC],
    ...SHARED,
    rename: 'unknown',
    powerLoss: 'unknown',
    note: 'A folder of another machine over SSH.',
  },
  {
    id: 'fat',
    title: 'FAT',
    types: ['vfat', 'msdos', 'exfat'],
    magics: [0x4d44, 0x2011bab0],
    ...LOCAL,
    rename: 'not-crash-safe',
    note: 'No journal: a power cut in the middle of a rename is left to fsck.',
  },
  { id: 'squashfs', title: 'SquashFS', types: ['squashfs'], magics: [0x73717368], ...IMAGE },
  { id: 'erofs', title: 'EROFS', types: ['erofs'], magics: [0xe0f5e1e2], ...IMAGE },
  { id: 'iso9660', title: 'ISO 9660', types: ['iso9660'], magics: [0x9660], ...IMAGE },
  {
    id: 'fuse',
    title: 'FUSE',
    types: ['fuse', 'fuseblk'],
    magics: [FUSE_MAGIC],
    rename: 'unknown',
    powerLoss: 'unknown',
    home: 'unknown',
    hasRealSpace: true,
    note: 'A program behind it decides what a rename and a sync mean; the mount table does not name that program.',
  },
];

/** The assumptions about a kind that is not in the table. */
const UNKNOWN_FILE_SYSTEM: FileSystem = {
  id: 'unknown',
  title: 'a file system that Holdfast does not know',
  types: [],
  magics: [],
  rename: 'unknown',
  powerLoss: 'unknown',
  home: 'unknown',
  hasRealSpace: true,
  note: 'Holdfast assumes nothing about it that it did not test.',
};

/** The kernel's facts about a path. */
export interface KernelView {
  /** The type number of `statfs`. */
  readonly magic: number;
  /** Type and source of the mount; null without a mount table. */
  readonly mount: { readonly type: string; readonly source: string } | null;
}

/**
 * The kind of file system. The name in the mount table is more exact than the number of `statfs`,
 * which is the same for all of FUSE and for ext2 to ext4. If the two contradict each other, the
 * number counts: it belongs to this very path.
 */
export function identifyFileSystem({ magic, mount }: KernelView): FileSystem {
  const named = mount === null ? undefined : FILE_SYSTEMS.find((kind) => isNamed(kind, mount));
  if (named !== undefined && (named.magics.length === 0 || named.magics.includes(magic))) return named;
  // The number of FUSE says nothing about the program behind it.
  const numbered =
    magic === FUSE_MAGIC ? FILE_SYSTEMS.find(({ id }) => id === 'fuse') : FILE_SYSTEMS.find(({ magics }) => magics.includes(magic));
  return numbered ?? named ?? UNKNOWN_FILE_SYSTEM;
}

function isNamed({ types, source }: FileSystem, mount: { readonly type: string; readonly source: string }): boolean {
  return types.includes(mount.type) || (mount.type === 'fuse' && source?.test(mount.source) === true);
}
