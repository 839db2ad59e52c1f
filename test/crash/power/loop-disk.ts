import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type LoopKind, type Mounted, mountLoop } from '../../support/mounts.ts';

const MOUNT_OPTIONS: Readonly<Record<string, string>> = { xfs: 'loop,nouuid' };

/** A disk whose power can be cut: its image is copied while nobody writes, and the copy mounted, whose journal replays. */
export interface LoopDisk extends Mounted {
  readonly kind: LoopKind;
  readonly image: string;
  /** A folder beside the disk, for what survives every cut. */
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

/** Copies the image; false when the device was written meanwhile, so that the copy is of no instant. */
export function copyImage({ image }: LoopDisk): boolean {
  const before = writeCounter(image);
  execFileSync('cp', ['--sparse=always', image, `${image}-copy`]);
  return writeCounter(image) === before;
}

/** Mounts the copy and lets somebody look at it. */
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

/** How often the device below the image was written. */
function writeCounter(image: string): string {
  for (const name of readdirSync('/sys/block')) {
    const backing = join('/sys/block', name, 'loop/backing_file');
    if (!existsSync(backing) || readFileSync(backing, 'utf8').trim() !== image) continue;
    return readFileSync(join('/sys/block', name, 'stat'), 'utf8')
      .trim()
      .split(/\s+/)
      .slice(4, 9)
      .join(' ');
  }
  throw new Error(`no loop device lies on ${image}`);
}
