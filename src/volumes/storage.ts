import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, realpathSync, type StatsFs, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { HoldfastError, systemCode } from '../core/errors.ts';
import { printable } from '../core/printable.ts';
import { type FileSystem, FUSE_MAGIC, identifyFileSystem } from './file-systems.ts';
import { type Mount, mountOfPath, parseMountTable } from './mount-table.ts';
import { deviceOfFolder, mountOfKubelet, type Place, placeOf } from './place.ts';
import type { SpaceFacts } from './space.ts';

/** The storage under a path, from the kernel, without any attempt or write. */
export interface Storage {
  /** The folder, absolute and without links; for a file, its folder. */
  readonly folder: string;
  readonly fileSystem: FileSystem;
  /** The type number of `statfs`. */
  readonly magic: number;
  /** Null without a readable mount table. */
  readonly mount: Mount | null;
  readonly isReadOnly: boolean;
  readonly place: Place;
  readonly space: SpaceFacts;
  readonly isInPod: boolean;
  /** Whether the layers of containers lie on a disk other than the disk with the kubelet's pods. */
  readonly hasImageDisk: boolean;
}

const MOUNT_TABLE = '/proc/self/mountinfo';
const KUBELET_FOLDER = '/var/lib/kubelet/pods';

/** Reads the storage under a path. Throws a HoldfastError if the path is missing or forbidden. */
export function describeStorage(path: string): Storage {
  const folder = folderOf(path);
  const { mount, mounts } = findMount(folder);
  const facts = statfsOf(folder);
  const fileSystem = identifyFileSystem({ magic: facts.type, mount });
  const kubelet = mountOfKubelet(mounts);
  const nodeDevice = kubelet?.device ?? (isFolder(KUBELET_FOLDER) ? deviceOfFolder(KUBELET_FOLDER, mounts) : null);
  const space = spaceOf(folder, facts);
  return {
    folder,
    fileSystem,
    magic: facts.type,
    mount,
    isReadOnly: mount !== null && (mount.options.includes('ro') || mount.superOptions.includes('ro')),
    place: placeOf({ fileSystem, realPath: folder, mount, nodeDevice, isInPod: kubelet !== null }),
    isInPod: kubelet !== null,
    space,
    // A layer reports the disk below it, so another size means another disk.
    hasImageDisk:
      kubelet !== null &&
      fileSystem.home === 'layer' &&
      spaceOf(kubelet.mountPoint, statfsOf(kubelet.mountPoint)).totalBytes !== space.totalBytes,
  };
}

function folderOf(path: string): string {
  try {
    const real = realpathSync(path);
    return statSync(real).isDirectory() ? real : dirname(real);
  } catch (thrown) {
    throw pathError(path, thrown);
  }
}

function statfsOf(path: string): StatsFs {
  try {
    return statfsSync(path);
  } catch (thrown) {
    throw pathError(path, thrown);
  }
}

function pathError(path: string, thrown: unknown): HoldfastError {
  const code = systemCode(thrown);
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    const hint = 'Name a folder that exists, such as the parent of the run’s folder.';
    return new HoldfastError('PATH_NOT_FOUND', { message: `${printable(path)} does not exist`, hint, cause: thrown });
  }
  const hint = 'Check the permissions of the path and of the folders above it.';
  return new HoldfastError('PATH_NOT_READABLE', {
    message: `${printable(path)} cannot be read: ${code ?? String(thrown)}`,
    hint,
    cause: thrown,
  });
}

/**
 * The mount of a folder. The kernel knows it for an open folder; a path alone is a guess where
 * mounts hide each other.
 */
function findMount(folder: string): { readonly mount: Mount | null; readonly mounts: readonly Mount[] } {
  const id = mountIdOf(folder);
  const mounts = parseMountTable(readIfThere(MOUNT_TABLE) ?? '');
  return { mount: mounts.find((mount) => mount.id === id) ?? mountOfPath(folder, mounts), mounts };
}

function mountIdOf(folder: string): number | null {
  let file: number;
  try {
    file = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch {
    // A folder with permission to enter but not to list.
    return null;
  }
  try {
    const match = /^mnt_id:\s*(\d+)$/m.exec(readIfThere(`/proc/self/fdinfo/${file}`) ?? '');
    return match === null ? null : Number(match[1]);
  } finally {
    closeSync(file);
  }
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function spaceOf(path: string, facts: StatsFs): SpaceFacts {
  const unit = unitOf(path, facts);
  return {
    totalBytes: facts.blocks * unit,
    freeBytes: facts.bfree * unit,
    availableBytes: facts.bavail * unit,
    totalInodes: facts.files,
    freeInodes: facts.ffree,
    blockBytes: unit,
  };
}

/**
 * The unit of `statfs`: fragments. They differ from blocks on FUSE only, where a block of a
 * megabyte is usual. Node.js reports them from version 24 on. Before, the program `stat` reports
 * them; without it, too little room is better than too much.
 */
function unitOf(path: string, { type, bsize, ...more }: StatsFs): number {
  const { frsize } = more as { readonly frsize?: number };
  if (frsize !== undefined && frsize > 0) return frsize;
  if (type !== FUSE_MAGIC) return bsize;
  const told = Number(spawnSync('stat', ['--file-system', '--format=%S', '--', path], { encoding: 'utf8' }).stdout);
  return told > 0 ? told : Math.min(bsize, 4096);
}
