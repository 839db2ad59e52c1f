import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type LoopKind, type Mounted, mountLoop } from '../../support/mounts.ts';

const MOUNT_OPTIONS: Readonly<Record<string, string>> = { xfs: 'loop,nouuid' };

/**
 * A disk whose power can be cut: its image is copied between writes, and the copy mounted, which
 * replays its journal.
 */
export interface LoopDisk extends Mounted {
  readonly kind: LoopKind;
  readonly image: string;
  /** A folder beside the disk, for files that survive every cut. */
  readonly outside: string;
}

export function makeDisk(kind: LoopKind): LoopDisk {
  const mounted = mountLoop(kind);
  const outside = dirname(mounted.path);
  return { kind, path: mounted.path, outside, image: join(outside, 'image'), [Symbol.dispose]: () => mounted[Symbol.dispose]() };
}

export function syncDisk({ path }: LoopDisk): void {
  execFileSync('sync', ['-f', path]);
}

/**
 * Copies the image; false if a process wrote to the device meanwhile, so that the copy shows no
 * single instant.
 */
export function copyImage({ image }: LoopDisk): boolean {
  // A new file each time: another mount namespace may still hold an older copy, and the same file
  // would show the old content.
  rmSync(`${image}-copy`, { force: true });
  const before = writesOf(image);
  execFileSync('cp', ['--sparse=always', image, `${image}-copy`]);
  const after = writesOf(image);
  // A write counts when it has ended: the counters alone may stand still while it goes into the
  // image.
  return before.onTheWay === 0 && after.onTheWay === 0 && before.counters === after.counters;
}

/** Mounts the copy and passes it to the callback. */
export async function lookAtCopy({ kind, image }: LoopDisk, look: (path: string) => Promise<void>): Promise<void> {
  const mountPoint = `${image}-copy-mnt`;
  mkdirSync(mountPoint, { recursive: true });
  execFileSync('mount', ['-t', kind, '-o', MOUNT_OPTIONS[kind] ?? 'loop', `${image}-copy`, mountPoint]);
  try {
    await look(mountPoint);
  } finally {
    execFileSync('umount', [mountPoint]);
  }
}

/** The number of writes and trims of the device below the image, and its requests in flight. */
function writesOf(image: string): { readonly counters: string; readonly onTheWay: number } {
  for (const name of readdirSync('/sys/block')) {
    const backing = join('/sys/block', name, 'loop/backing_file');
    if (!existsSync(backing) || readFileSync(backing, 'utf8').trim() !== image) continue;
    const fields = readFileSync(join('/sys/block', name, 'stat'), 'utf8')
      .trim()
      .split(/\s+/);
    return { counters: [...fields.slice(4, 8), ...fields.slice(11, 15)].join(' '), onTheWay: Number(fields[8]) };
  }
  throw new Error(`no loop device lies on ${image}`);
}
