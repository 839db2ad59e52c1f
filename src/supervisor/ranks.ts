import type { SaveReason } from './sdk/protocol.ts';
import type { Rank } from './sdk/server.ts';

/** Progress is told a few times a second, so that a step some moments ahead of the last one told is still to come for every rank. */
const AHEAD_MS = 400;
/** By its own clock a rank makes its reports a quarter of a second apart or more: in that time it comes no further than between so many of them. */
const REPORTS_AHEAD = 2;
const REMEMBERED = 16;
const LEAST_AHEAD = 2;
const MOST_PATIENCE = 16;

/** The ranks that are connected, how far each has come, and the save they were asked for. */
export class Ranks {
  readonly #steps = new Map<Rank, number | null>();
  /** How many steps lay between the last reports. */
  #strides: readonly number[] = [];
  /** Those that agree among themselves at which step all save, and how long that takes at most. */
  readonly #agreeing = new Map<Rank, number>();
  /** Those that say that they do something long. */
  readonly #busy = new Set<Rank>();
  /** The numbers of all that were here since the first of them came. */
  readonly #seen = new Set<number>();
  #wanted: SaveReason | null = null;
  /** The step that several were asked to save. */
  #at: number | null = null;
  /** Grows when a rank turned out to be past that step. */
  #patience = 1;

  get all(): readonly Rank[] {
    return [...this.#steps.keys()].sort((a, b) => a.rank - b.rank);
  }

  get count(): number {
    return this.#steps.size;
  }

  /** The numbers of those that are gone while others go on; a gang that was gone as a whole begins anew. */
  get lost(): readonly number[] {
    const here = new Set(this.all.map(({ rank }) => rank));
    return [...this.#seen].filter((rank) => !here.has(rank)).sort((a, b) => a - b);
  }

  /** The furthest step that one of them is known to have made; null: none. */
  get furthest(): number | null {
    const steps = [...this.#steps.values()].filter((step) => step !== null);
    return steps.length === 0 ? null : Math.max(...steps);
  }

  /** True while one of them says that it does something long: the others may wait for it. */
  get areBusy(): boolean {
    return this.#busy.size > 0;
  }

  /** Why a save was asked for that has not begun yet; null when none was. */
  get wanted(): SaveReason | null {
    return this.#wanted;
  }

  /** True when the ranks themselves find the step at which all of them save. */
  get areAgreeing(): boolean {
    return this.count > 1 && this.#doAllAgree;
  }

  /** How long it takes at most until a save that was asked for is due, beyond the step that goes on. */
  get agreementMs(): number {
    // A single one here agrees with those of other nodes.
    return this.#doAllAgree ? Math.max(0, ...this.#agreeing.values()) : 0;
  }

  get #doAllAgree(): boolean {
    return this.all.every((rank) => this.#agreeing.has(rank));
  }

  /** A rank says within what time it agrees with the others; null: it cannot any more. */
  agrees(rank: Rank, withinMs: number | null, stepMs: number | null): void {
    if (withinMs !== null) this.#agreeing.set(rank, withinMs);
    // What was asked for in the hope that they agree is asked for anew, at a step that is named.
    else if (this.#agreeing.delete(rank) && this.#wanted !== null) this.ask(this.#wanted, stepMs);
  }

  add(rank: Rank): void {
    if (this.count === 0) this.#seen.clear();
    this.#seen.add(rank.rank);
    this.#steps.set(rank, null);
  }

  remove(rank: Rank): void {
    this.#steps.delete(rank);
    this.#agreeing.delete(rank);
    this.#busy.delete(rank);
  }

  /** True when that is news of this rank. */
  noteBusy(rank: Rank, isBusy: boolean): boolean {
    if (isBusy === this.#busy.has(rank)) return false;
    if (isBusy) this.#busy.add(rank);
    else this.#busy.delete(rank);
    return true;
  }

  note(rank: Rank, step: number, stepMs: number | null): void {
    const isFirst = this.furthest === null;
    const stride = step - (this.#steps.get(rank) ?? step);
    if (stride > 0) this.#strides = [...this.#strides, stride].slice(-REMEMBERED);
    this.#steps.set(rank, step);
    // Ranks that have not begun cannot agree on a step; now they can.
    if (isFirst && this.#wanted !== null && this.count > 1 && !this.areAgreeing) this.ask(this.#wanted, stepMs);
  }

  /** Asks for a save: a single rank at its next step, several when they agree, or at a step that all of them have ahead. */
  ask(why: SaveReason, stepMs: number | null): void {
    this.#wanted = why;
    if (this.count === 1 || this.areAgreeing) this.#at = null;
    else if (!this.#nameStep(stepMs)) return;
    for (const rank of this.#steps.keys()) rank.send({ type: 'save', why, at: this.#at });
  }

  /** False while nobody has begun: they cannot meet at a step then. */
  #nameStep(stepMs: number | null): boolean {
    const furthest = this.furthest;
    if (furthest === null) return false;
    this.#at = furthest + Math.ceil(LEAST_AHEAD + this.#stepsAhead(stepMs)) * this.#patience;
    return true;
  }

  /**
   * How many steps they make until all have heard of it. Reports that were heard late, and then at once, make a step seem to take no time at all: a
   * save at a step that far ahead would never come. What lies between two reports is told by numbers that no delay changes.
   */
  #stepsAhead(stepMs: number | null): number {
    if (stepMs === null || stepMs <= 0) return 0;
    const most = this.#strides.length === 0 ? Infinity : REPORTS_AHEAD * Math.max(...this.#strides);
    return Math.min(AHEAD_MS / stepMs, most);
  }

  /** A rank was past the step that all were asked for: the next one lies further ahead. Others that say so of the same step change nothing. */
  askLater(rank: Rank, { at, step }: { readonly at: number; readonly step: number }, stepMs: number | null): void {
    // Also one that has just left it: it is on its way to the next.
    this.#steps.set(rank, Math.max(step, at + 1));
    if (at !== this.#at) return;
    this.#patience = Math.min(MOST_PATIENCE, this.#patience * 2);
    if (this.#wanted !== null) this.ask(this.#wanted, stepMs);
  }

  /** The save has begun, or is not wanted any more. */
  settle(): SaveReason | null {
    const wanted = this.#wanted;
    this.#wanted = null;
    this.#at = null;
    this.#patience = 1;
    return wanted;
  }

  relax(): void {
    if (this.settle() === null) return;
    for (const rank of this.#steps.keys()) rank.send({ type: 'relax' });
  }
}
