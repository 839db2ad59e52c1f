import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { realClock } from '../../../src/core/clock.ts';
import { toError } from '../../../src/core/errors.ts';
import type { Rng } from '../../../src/core/rng.ts';
import { withCompileCache } from '../compile-cache.ts';
import { differences, resume } from '../store-driver.ts';
import { type LoopKind, mountLoop } from '../../support/mounts.ts';

export interface Cuts {
  /** Cuts that count. */
  cuts: number;
  /** Thrown away: the device was written while its image was copied. */
  moving: number;
  /** Plain saves that had returned and were not whole after the cut. */
  controlLost: number;
  controlKept: number;
  readonly faults: string[];
}

const BYTES = 200_000;
const SCRIPT = fileURLToPath(new URL('writer.ts', import.meta.url));
const MOUNT_OPTIONS: Readonly<Record<string, string>> = { xfs: 'loop,nouuid' };

/**
 * Stops a writer at random instants, copies the image of its disk, mounts the copy, whose journal replays as after a loss of power, and looks what
 * is there.
 */
export async function cutPower(kind: LoopKind, count: number, rng: Rng): Promise<Cuts> {
  using disk = mountLoop(kind);
  const image = join(dirname(disk.path), 'image');
  const [run, control, journal] = [join(disk.path, 'run'), join(disk.path, 'control'), join(dirname(disk.path), 'journal')];
  for (const folder of [run, control]) mkdirSync(folder);
  execFileSync('sync', ['-f', disk.path]);
  const writer = spawn(process.execPath, [SCRIPT, run, control, journal, String(BYTES)], { stdio: 'ignore', env: withCompileCache() });
  const result: Cuts = { cuts: 0, moving: 0, controlLost: 0, controlKept: 0, faults: [] };
  try {
    await waitFor(() => existsSync(journal) && readFileSync(journal, 'utf8').includes('plain 2'));
    while (result.cuts < count && result.moving < 20 * count) await cutOnce({ kind, image, journal, writer }, rng, result);
  } finally {
    const gone = new Promise((resolve) => writer.once('exit', resolve));
    writer.kill('SIGKILL');
    await gone;
  }
  return result;
}

interface Writing {
  readonly kind: LoopKind;
  readonly image: string;
  readonly journal: string;
  readonly writer: ChildProcess;
}

async function cutOnce({ kind, image, journal, writer }: Writing, rng: Rng, result: Cuts): Promise<void> {
  await realClock.sleep(rng.next() * 80);
  const copy = `${image}-copy`;
  writer.kill('SIGSTOP');
  const before = writeCounter(image);
  const told = readFileSync(journal, 'utf8');
  execFileSync('cp', ['--sparse=always', image, copy]);
  const isMoving = writeCounter(image) !== before;
  writer.kill('SIGCONT');
  if (isMoving) {
    result.moving += 1;
    return;
  }
  result.cuts += 1;
  const mountPoint = `${copy}-mnt`;
  mkdirSync(mountPoint, { recursive: true });
  execFileSync('mount', ['-t', kind, '-o', MOUNT_OPTIONS[kind] ?? 'loop', copy, mountPoint]);
  try {
    await judge(mountPoint, told, result);
  } finally {
    execFileSync('umount', [mountPoint]);
  }
}

async function judge(mountPoint: string, told: string, result: Cuts): Promise<void> {
  const last = (what: string): number => Number(told.match(new RegExp(`${what} (\\d+)\\n(?![^]*${what} )`))?.[1] ?? 0);
  const [begun, sealed, plain] = [last('begun'), last('sealed'), last('plain')];
  try {
    const { key, faults } = await resume(join(mountPoint, 'run'), BYTES);
    const step = Number(key?.split('/')[1] ?? -1);
    result.faults.push(...faults);
    if (step < sealed || step > begun)
      result.faults.push(`resume found ${key ?? 'nothing'}, with step ${sealed} sealed and ${begun} begun`);
  } catch (thrown) {
    result.faults.push(toError(thrown).message);
  }
  const name = `step-${plain}`;
  const folder = join(mountPoint, 'control', name);
  const isWhole = existsSync(folder) && differences(folder, { attempt: 1, step: plain, worldSize: 2, bytes: BYTES }).length === 0;
  result[isWhole ? 'controlKept' : 'controlLost'] += 1;
}

/** How often the device below the image was written. */
function writeCounter(image: string): string {
  for (const name of readdirSync('/sys/block')) {
    const backing = join('/sys/block', name, 'loop/backing_file');
    if (
      !existsSync(backing) ||
      basename(readFileSync(backing, 'utf8').trim()) !== 'image' ||
      readFileSync(backing, 'utf8').trim() !== image
    )
      continue;
    return readFileSync(join('/sys/block', name, 'stat'), 'utf8')
      .trim()
      .split(/\s+/)
      .slice(4, 9)
      .join(' ');
  }
  throw new Error(`no loop device lies on ${image}`);
}

async function waitFor(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (holds()) return;
    await realClock.sleep(30);
  }
  throw new Error('the writer does not write');
}
