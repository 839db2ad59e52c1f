import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, realpathSync, type StatsFs, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { HoldfastError, systemCode } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { type FileSystem, FUSE_MAGIC, identifyFileSystem } from './file-systems.ts';
import { type Mount, mountOfPath, parseMountTable } from './mount-table.ts';
import { deviceOfFolder, mountOfKubelet, type Place, placeOf } from './place.ts';
import type { SpaceFacts } from './space.ts';

/** What lies under a path, as the kernel tells it; nothing was tried or written. */
export interface Storage {
  /** The folder, absolute and without links; of a file the folder it lies in. */
  readonly folder: string;
  readonly fileSystem: FileSystem;
  /** The type number of `statfs`. */
  readonly magic: number;
  /** Null where there is no mount table to read. */
  readonly mount: Mount | null;
  readonly isReadOnly: boolean;
  readonly place: Place;
  readonly space: SpaceFacts;
  readonly isInPod: boolean;
  /** The layers of containers lie on a disk other than the one where the kubelet keeps its pods. */
  readonly hasImageDisk: boolean;
}

const MOUNT_TABLE = '/proc/self/mountinfo';
const KUBELET_FOLDER = '/var/lib/kubelet/pods';

/** Looks at what lies under a path. Throws a HoldfastError when the path is not there or may not be looked at. */
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
    const hint = 'Name a folder that is there, such as the one in which the run will make its own.';
    return new HoldfastError('PATH_NOT_FOUND', { message: `${printable(path)} does not exist`, hint, cause: thrown });
  }
  const hint = 'Check the permissions of the path and of the folders above it.';
  return new HoldfastError('PATH_NOT_READABLE', {
    message: `${printable(path)} cannot be looked at: ${code ?? String(thrown)}`,
    hint,
    cause: thrown,
  });
}

/** The mount a folder lies on. The kernel tells it of an open folder; a path alone is a guess where mounts hide each other. */
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
    // A folder that may be entered but not listed.
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
 * What `statfs` counts in. That is fragments; they differ from blocks on FUSE only, where a megabyte is a usual block. Node.js tells them
 * from 24 on; before, the program `stat` is asked, and where there is none too little room is better than too much.
 */
function unitOf(path: string, { type, bsize, ...more }: StatsFs): number {
  const { frsize } = more as { readonly frsize?: number };
  if (frsize !== undefined && frsize > 0) return frsize;
  if (type !== FUSE_MAGIC) return bsize;
  const told = Number(spawnSync('stat', ['--file-system', '--format=%S', '--', path], { encoding: 'utf8' }).stdout);
  return told > 0 ? told : Math.min(bsize, 4096);
}
