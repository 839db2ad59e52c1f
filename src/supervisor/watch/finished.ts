import type { CheckpointReport } from '../../checkpoint/report.ts';
import { type Entry, isSame, type Stamps } from './look.ts';

/**
 * Formats that several ranks write without a last word of one of them: that every file of one rank is there says nothing about the others. Those
 * that end with a marker (DCP, Orbax, torch_dist, TorchSnapshot, sharded Lightning) and those that are one file are not among them.
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

/** The Trainer's random state of one rank among several; a single process writes `rng_state.pth`. */
const OF_A_RANK = /(^|\/)rng_state_\d+\.pth$/;

/**
 * Whether another rank may still have something to add to a checkpoint that looks whole. Then only a newer save proves that it is finished, since
 * no rank begins one before the last is done; or the end of the trainer.
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

/** Knows of checkpoints that look whole which of them are finished, from the order in which they came. */
export class Finishing {
  /** When a checkpoint of a format was first seen. */
  readonly #appeared = new Map<string, Seen>();
  /** Whole, but perhaps not finished by all ranks. */
  readonly #waiting = new Map<string, Seen & { readonly stamps: Stamps }>();

  /** It looks as it did when it was last asked about, and nothing has come since that would prove it finished. */
  isWaiting({ name, stamps }: Entry): boolean {
    const known = this.#waiting.get(name);
    return known !== undefined && isSame(known.stamps, stamps) && !this.#hasSuccessor(name, known);
  }

  /** A checkpoint was looked into, whole or not. */
  note({ name }: Entry, { format }: Pick<CheckpointReport, 'format'>, atMs: number): void {
    if (!this.#appeared.has(name)) this.#appeared.set(name, { format: format?.id ?? '', atMs });
  }

  /** Whether one that looks whole is finished. */
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

  /** Forgets what does not lie there any more. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const known of [this.#appeared, this.#waiting]) for (const name of known.keys()) if (!names.has(name)) known.delete(name);
  }

  #hasSuccessor(name: string, { format, atMs }: Seen): boolean {
    return this.#appeared.entries().some(([other, seen]) => other !== name && seen.format === format && seen.atMs > atMs);
  }
}
