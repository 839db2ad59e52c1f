import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { realClock } from '../../../src/core/clock.ts';
import { toError } from '../../../src/core/errors.ts';
import type { Rng } from '../../../src/core/rng.ts';
import type { LoopKind } from '../../support/mounts.ts';
import { withCompileCache } from '../compile-cache.ts';
import { resume } from '../store-driver.ts';
import { FRAMEWORK_WRITER, judgeFrameworks, type Outcomes } from './framework-saves.ts';
import { copyImage, type LoopDisk, lookAtCopy, makeDisk, syncDisk } from './loop-disk.ts';

export interface Cuts {
  /** Cuts of our disk that count. */
  cuts: number;
  /** Discarded: a process wrote to the device during the copy of its image. */
  moving: number;
  /** Saves of the frameworks at the same time, by the way of saving. */
  readonly frameworks: Map<string, Outcomes>;
  readonly faults: string[];
}

export interface CutOptions {
  readonly kind: LoopKind;
  readonly count: number;
  readonly rng: Rng;
  /** A Python with torch; without one there is no control. */
  readonly python: string | null;
}

const BYTES = 200_000;
const SCRIPT = fileURLToPath(new URL('writer.ts', import.meta.url));

/**
 * Stops two writers at random instants, ours and the frameworks', each on its own disk. Copies the
 * images of the disks and mounts the copies, whose journals replay as after a loss of power. Then
 * checks the content.
 */
export async function cutPower({ kind, count, rng, python }: CutOptions): Promise<Cuts> {
  const result: Cuts = { cuts: 0, moving: 0, frameworks: new Map(), faults: [] };
  using ours = makeDisk(kind);
  using theirs = makeDisk(kind);
  const run = join(ours.path, 'run');
  mkdirSync(run);
  for (const disk of [ours, theirs]) syncDisk(disk);
  await using own = new Writer(ours, process.execPath, [SCRIPT, run, journalOf(ours), String(BYTES)]);
  await using control =
    python === null
      ? null
      : new Writer(theirs, python, [FRAMEWORK_WRITER, theirs.path, journalOf(theirs), join(theirs.outside, 'scratch')]);
  await own.hasWritten('sealed 2\n');
  await control?.hasWritten('trainer\'s folder", "step": 2');
  // Where the disk of the frameworks moves at most copies, there are more cuts until one shows a
  // loss.
  const isEnough = (): boolean => result.cuts >= count && (control === null || lossesOf(result) > 0);
  while (!isEnough() && result.cuts + result.moving < 20 * count) {
    await realClock.sleep(rng.next() * 80);
    await cutOnce(own, control, result);
  }
  return result;
}

/** How many saves of the frameworks the cuts have lost. */
export function lossesOf({ frameworks }: Cuts): number {
  return [...frameworks.values()].reduce((sum, { older, nothing }) => sum + older + nothing, 0);
}

async function cutOnce(own: Writer, control: Writer | null, result: Cuts): Promise<void> {
  const told = own.stop();
  const theirs = control?.stop() ?? '';
  const isStill = copyImage(own.disk);
  const isControlStill = control !== null && copyImage(control.disk);
  for (const writer of [own, control]) writer?.goOn();
  result[isStill ? 'cuts' : 'moving'] += 1;
  if (isStill) await lookAtCopy(own.disk, (path) => judge(path, told, result));
  if (isControlStill) await lookAtCopy(control.disk, async (path) => judgeFrameworks(path, theirs, result.frameworks));
}

async function judge(mountPoint: string, told: string, result: Cuts): Promise<void> {
  const last = (what: string): number => Number(told.match(new RegExp(`${what} (\\d+)\\n(?![^]*${what} )`))?.[1] ?? 0);
  const [begun, sealed] = [last('begun'), last('sealed')];
  try {
    const { key, faults } = await resume(join(mountPoint, 'run'), BYTES);
    const step = Number(key?.split('/')[1] ?? -1);
    result.faults.push(...faults);
    if (step < sealed || step > begun)
      result.faults.push(`resume found ${key ?? 'nothing'}, with step ${sealed} sealed and ${begun} begun`);
  } catch (thrown) {
    result.faults.push(toError(thrown).message);
  }
}

function journalOf({ outside }: LoopDisk): string {
  return join(outside, 'journal');
}

/** A process that writes to a disk and records its progress in a journal elsewhere. */
class Writer implements AsyncDisposable {
  readonly disk: LoopDisk;
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;

  constructor(disk: LoopDisk, program: string, args: readonly string[]) {
    this.disk = disk;
    this.#process = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'], env: withCompileCache() });
    this.#ended = new Promise((resolve) => this.#process.once('exit', resolve));
  }

  /** Waits for a record; the limit of the test is the bound. */
  async hasWritten(text: string): Promise<void> {
    while (this.#process.exitCode === null && this.#process.signalCode === null) {
      if (this.#journal().includes(text)) return;
      await realClock.sleep(30);
    }
    throw new Error('the writer has ended');
  }

  /** Stops the process, and returns its records up to then. */
  stop(): string {
    this.#process.kill('SIGSTOP');
    return this.#journal();
  }

  goOn(): void {
    this.#process.kill('SIGCONT');
  }

  #journal(): string {
    const file = journalOf(this.disk);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#ended;
  }
}
