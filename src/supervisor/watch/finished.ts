import type { CheckpointReport } from '../../verify/report.ts';
import { type Entry, isSame, type Stamps } from './look.ts';

/**
 * Formats in which several ranks write and no rank marks the end. The files of one rank say nothing
 * about the files of the others. Formats that end with a marker (DCP, Orbax, torch_dist,
 * TorchSnapshot, sharded Lightning) and single-file formats are not listed.
 */
const WITHOUT_MARKER: ReadonlySet<string> = new Set([
  'accelerate',
  'composer',
  'deepspeed',
  'keras-sharded',
  'megatron-legacy',
  'nvrx-local',
  'safetensors-sharded',
]);

/**
 * The random state of one rank in a Trainer checkpoint of several ranks; a single process writes
 * `rng_state.pth`.
 */
const OF_A_RANK = /(^|\/)rng_state_\d+\.pth$/;

/**
 * Returns true when another rank may still add files to a checkpoint that looks whole. Only a newer
 * save or the end of the trainer then proves that it is finished. No rank starts a save before the
 * last one is done.
 */
export function mayStillGrow({ format, content }: Pick<CheckpointReport, 'format' | 'content'>): boolean {
  const { rng, worldSize } = content;
  const expected = rng.expectedRanks ?? worldSize;
  if (expected !== null && rng.ranks.length >= expected) return false;
  if (format?.id === 'hf-trainer') return rng.where.some((path) => OF_A_RANK.test(path));
  return format !== null && WITHOUT_MARKER.has(format.id);
}

interface Seen {
  readonly format: string;
  readonly atMs: number;
}

/**
 * Decides which checkpoints that look whole are finished, from the order in which they appeared.
 */
export class Finishing {
  /** The time at which each checkpoint was first seen, with its format. */
  readonly #appeared = new Map<string, Seen>();
  /** Checkpoints that look whole but may still lack files of other ranks. */
  readonly #waiting = new Map<string, Seen & { readonly stamps: Stamps }>();

  /**
   * Returns true when the checkpoint has not changed since the last look and no newer one has
   * appeared.
   */
  isWaiting({ name, stamps }: Entry): boolean {
    const known = this.#waiting.get(name);
    return known !== undefined && isSame(known.stamps, stamps) && !this.#hasSuccessor(name, known);
  }

  /** Records that a checkpoint was inspected, whole or not. */
  note({ name }: Entry, { format }: Pick<CheckpointReport, 'format'>, atMs: number): void {
    if (!this.#appeared.has(name)) this.#appeared.set(name, { format: format?.id ?? '', atMs });
  }

  /** Returns true when a checkpoint that looks whole is finished. */
  isFinished({ name, stamps }: Entry, report: Pick<CheckpointReport, 'format' | 'content'>, atMs: number): boolean {
    const known = this.#waiting.get(name);
    const since = known !== undefined && isSame(known.stamps, stamps) ? known : { format: report.format?.id ?? '', atMs, stamps };
    if (mayStillGrow(report) && !this.#hasSuccessor(name, since)) {
      this.#waiting.set(name, since);
      return false;
    }
    this.#waiting.delete(name);
    return true;
  }

  /** Forgets every checkpoint that is no longer in the folder. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const known of [this.#appeared, this.#waiting]) for (const name of known.keys()) if (!names.has(name)) known.delete(name);
  }

  #hasSuccessor(name: string, { format, atMs }: Seen): boolean {
    return this.#appeared.entries().some(([other, seen]) => other !== name && seen.format === format && seen.atMs > atMs);
  }
}
