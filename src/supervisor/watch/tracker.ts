import { type Entry, isOnlyTouched, isPartOf, isRewritten, isSame, type Stamps } from './look.ts';

/**
 * How long an entry must stay unchanged before it is judged. Its format decides whether a save is
 * finished; the pause only avoids looks at files that are being written.
 */
export const QUIET_MS = 1000;

interface Tracked {
  readonly stamps: Stamps;
  /** When the entry was first seen with these stamps. */
  readonly sinceMs: number;
  /** It was inspected with these stamps, and it cannot be sealed. */
  readonly isRefused: boolean;
  /** How often the disk has failed on it with these stamps, and until when it is left alone. */
  readonly failures: number;
  readonly restsUntilMs: number;
}

/**
 * The pause after the first disk failure; each further failure doubles it. A pause is also at least
 * `RESTS` times as long as the failed try.
 */
const FIRST_REST_MS = 2000;
const LONGEST_REST_MS = 10 * 60_000;
const RESTS = 4;

/** What one look at the watched folder found. */
export interface Observed {
  /** Changed in this attempt, quiet, and not judged yet. */
  readonly due: readonly Entry[];
  /** Sealed, and deleted since: the framework keeps only a few saves. */
  readonly gone: readonly string[];
  /**
   * Sealed, and some of its files are missing while the others are unchanged. The framework is
   * deleting it and must not be disturbed.
   */
  readonly dwindling: readonly Entry[];
  /** Sealed, and a file of it was written since: the seal is void. */
  readonly replaced: readonly Entry[];
  /** The replaced entries that may only be damaged; their seal is needed to find out. */
  readonly touched: readonly Entry[];
}

/**
 * Tracks the entries of the watched folder from one look to the next. From the looks alone it
 * decides which entries may be judged now, and which seals are void.
 */
export class Tracker {
  readonly #sealed = new Map<string, Stamps>();
  readonly #tracked = new Map<string, Tracked>();
  #missed = 0;
  /** Entries whose void seal is still in place. */
  readonly #voided = new Set<string>();
  /** The stamps of an entry before this attempt wrote to it. */
  readonly #before = new Map<string, Stamps>();

  /**
   * `before`: the entries in the folder when this attempt began; `sealed`: those of them with a
   * valid seal.
   */
  constructor(before: Iterable<readonly [string, Stamps]>, sealed: Iterable<string>) {
    for (const [name, stamps] of before) this.#before.set(name, stamps);
    for (const name of sealed) this.#sealed.set(name, this.#before.get(name) ?? new Map<string, string>());
  }

  get sealedCount(): number {
    return this.#sealed.size;
  }

  /** The number of entries that were deleted before they could be sealed, since the last seal. */
  get missedCount(): number {
    return this.#missed;
  }

  /** The stamps of a checkpoint when it was sealed; undefined once its seal does not hold. */
  sealedStamps(name: string): Stamps | undefined {
    return this.#sealed.get(name);
  }

  observe(entries: ReadonlyMap<string, Entry>, nowMs: number, { isOver = false } = {}): Observed {
    const gone = [...this.#sealed.keys()].filter((name) => !entries.has(name));
    for (const name of gone) this.#sealed.delete(name);
    for (const name of this.#tracked.keys()) {
      if (entries.has(name)) continue;
      this.#missed += 1;
      this.#forget(name);
    }
    const changed = [...entries.values()].filter((entry) => !this.#isAsSealed(entry));
    const [dwindling, replaced, touched]: [Entry[], Entry[], Entry[]] = [[], [], []];
    for (const entry of changed) {
      const sealed = this.#sealed.get(entry.name);
      if (sealed === undefined) continue;
      (isPartOf(entry.stamps, sealed) ? dwindling : replaced).push(entry);
      if (isOnlyTouched(sealed, entry.stamps)) {
        touched.push(entry);
        this.#voided.add(entry.name);
      }
      this.#sealed.delete(entry.name);
      this.#before.set(entry.name, sealed);
    }
    // An entry that another process sealed is not judged; an entry with a void seal of our own is.
    const open = changed.filter((entry) => !entry.hasSeal || replaced.includes(entry) || this.#voided.has(entry.name));
    return { due: open.filter((entry) => this.#isDue(entry, nowMs, isOver)), gone, dwindling, replaced, touched };
  }

  #isAsSealed({ name, stamps }: Entry): boolean {
    const sealed = this.#sealed.get(name);
    return sealed !== undefined && isSame(sealed, stamps);
  }

  /** Records that the entry was sealed with these stamps. */
  seal({ name, stamps }: Entry): void {
    this.#missed = 0;
    this.#voided.delete(name);
    this.#sealed.set(name, stamps);
    this.#tracked.delete(name);
    this.#before.set(name, stamps);
  }

  /** Records that the entry cannot be sealed; it is not inspected again until it changes. */
  refuse({ name, stamps }: Entry): void {
    const known = this.#tracked.get(name);
    if (known !== undefined && isSame(known.stamps, stamps)) this.#tracked.set(name, { ...known, isRefused: true });
  }

  /**
   * Records a disk failure, which says nothing about the checkpoint. It is tried again after a
   * pause, and once more at the end.
   */
  postpone({ name, stamps }: Entry, nowMs: number, tookMs: number): void {
    const known = this.#tracked.get(name);
    if (known === undefined || !isSame(known.stamps, stamps)) return;
    const restMs = Math.max(RESTS * tookMs, Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** known.failures));
    this.#tracked.set(name, { ...known, failures: known.failures + 1, restsUntilMs: nowMs + restMs });
  }

  #isDue({ name, stamps }: Entry, nowMs: number, isOver: boolean): boolean {
    const before = this.#before.get(name);
    // An entry that was there before and has only some new files mixes two saves, however whole it
    // looks.
    if (before !== undefined && before.size > 0 && !isRewritten(before, stamps)) return false;
    const known = this.#tracked.get(name);
    const isKnown = known !== undefined && isSame(known.stamps, stamps);
    const tracked = isKnown ? known : { stamps, sinceMs: nowMs, isRefused: false, failures: 0, restsUntilMs: nowMs };
    this.#tracked.set(name, tracked);
    if (stamps.size === 0 || tracked.isRefused) return false;
    return isOver || (nowMs - tracked.sinceMs >= QUIET_MS && nowMs >= tracked.restsUntilMs);
  }

  #forget(name: string): void {
    this.#voided.delete(name);
    this.#tracked.delete(name);
    this.#before.delete(name);
  }
}
