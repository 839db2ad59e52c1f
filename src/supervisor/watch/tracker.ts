import { type Entry, isPartOf, isRewritten, isSame, type Stamps } from './look.ts';

/** Nobody has touched it for this long. Not what makes a save finished, which its format says; only no reason to look while it is written. */
export const QUIET_MS = 1000;

interface Tracked {
  readonly stamps: Stamps;
  /** When it was first seen like this. */
  readonly sinceMs: number;
  /** It was looked into like this, and is no checkpoint that can be sealed. */
  readonly isRefused: boolean;
  /** How often the disk has failed at it like this, and until when it is left alone for that. */
  readonly failures: number;
  readonly restsUntilMs: number;
}

/** After a failure of the disk it is left alone so long, after each further one twice as long; and so many times as long as the try took. */
const FIRST_REST_MS = 2000;
const LONGEST_REST_MS = 10 * 60_000;
const RESTS = 4;

export interface Observed {
  /** Changed by this life of the trainer, quiet, and not judged yet. */
  readonly due: readonly Entry[];
  /** Sealed, and gone since: its framework keeps only so many. */
  readonly gone: readonly string[];
  /** Sealed, and files of it are missing, the others as they were: it is being deleted, and whoever does so must not be disturbed. */
  readonly dwindling: readonly Entry[];
  /** Sealed, and something in it was written since: the seal is void. */
  readonly replaced: readonly Entry[];
}

/**
 * What is known about the entries of the watched folder from one look to the next. It decides by what it has seen alone: which entries may be
 * judged now, and which seals do not hold any more.
 */
export class Tracker {
  readonly #sealed = new Map<string, Stamps>();
  readonly #tracked = new Map<string, Tracked>();
  /** How an entry was before this life began to write it. */
  readonly #before = new Map<string, Stamps>();

  /** `before`: what lay there when this life began; `sealed`: those of it that are sealed as they are. */
  constructor(before: Iterable<readonly [string, Stamps]>, sealed: Iterable<string>) {
    for (const [name, stamps] of before) this.#before.set(name, stamps);
    for (const name of sealed) this.#sealed.set(name, this.#before.get(name) ?? new Map<string, string>());
  }

  get sealedCount(): number {
    return this.#sealed.size;
  }

  observe(entries: ReadonlyMap<string, Entry>, nowMs: number, { isOver = false } = {}): Observed {
    const gone = [...this.#sealed.keys()].filter((name) => !entries.has(name));
    for (const name of gone) this.#sealed.delete(name);
    for (const name of this.#tracked.keys()) if (!entries.has(name)) this.#forget(name);
    const changed = [...entries.values()].filter((entry) => !this.#isAsSealed(entry));
    const [dwindling, replaced]: [Entry[], Entry[]] = [[], []];
    for (const entry of changed) {
      const sealed = this.#sealed.get(entry.name);
      if (sealed === undefined) continue;
      (isPartOf(entry.stamps, sealed) ? dwindling : replaced).push(entry);
      this.#sealed.delete(entry.name);
      this.#before.set(entry.name, sealed);
    }
    // What another has sealed is not ours to judge; a seal of our own that is void is.
    const open = changed.filter((entry) => !entry.hasSeal || replaced.includes(entry));
    return { due: open.filter((entry) => this.#isDue(entry, nowMs, isOver)), gone, dwindling, replaced };
  }

  #isAsSealed({ name, stamps }: Entry): boolean {
    const sealed = this.#sealed.get(name);
    return sealed !== undefined && isSame(sealed, stamps);
  }

  /** It is sealed as it was seen. */
  seal({ name, stamps }: Entry): void {
    this.#sealed.set(name, stamps);
    this.#tracked.delete(name);
    this.#before.set(name, stamps);
  }

  /** It cannot be sealed like this; not looked into again until it changes. */
  refuse({ name, stamps }: Entry): void {
    const known = this.#tracked.get(name);
    if (known !== undefined && isSame(known.stamps, stamps)) this.#tracked.set(name, { ...known, isRefused: true });
  }

  /** The disk has failed, which says nothing about the checkpoint: it is tried again after a while, and once more at the end. */
  postpone({ name, stamps }: Entry, nowMs: number, tookMs: number): void {
    const known = this.#tracked.get(name);
    if (known === undefined || !isSame(known.stamps, stamps)) return;
    const restMs = Math.max(RESTS * tookMs, Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** known.failures));
    this.#tracked.set(name, { ...known, failures: known.failures + 1, restsUntilMs: nowMs + restMs });
  }

  #isDue({ name, stamps }: Entry, nowMs: number, isOver: boolean): boolean {
    const before = this.#before.get(name);
    // An entry that was there before and of which only some files are new is a mixture of two saves, however whole it looks.
    if (before !== undefined && before.size > 0 && !isRewritten(before, stamps)) return false;
    const known = this.#tracked.get(name);
    const isKnown = known !== undefined && isSame(known.stamps, stamps);
    const tracked = isKnown ? known : { stamps, sinceMs: nowMs, isRefused: false, failures: 0, restsUntilMs: nowMs };
    this.#tracked.set(name, tracked);
    if (stamps.size === 0 || tracked.isRefused) return false;
    return isOver || (nowMs - tracked.sinceMs >= QUIET_MS && nowMs >= tracked.restsUntilMs);
  }

  #forget(name: string): void {
    this.#tracked.delete(name);
    this.#before.delete(name);
  }
}
