import type { SaveReason } from './sdk/protocol.ts';
import type { Rank } from './sdk/server.ts';

/** Progress is told a few times a second, so that a step some moments ahead of the last one told is still to come for every rank. */
const AHEAD_MS = 400;
const LEAST_AHEAD = 2;
const MOST_PATIENCE = 16;

/** The ranks that are connected, how far each has come, and the save they were asked for. */
export class Ranks {
  readonly #steps = new Map<Rank, number | null>();
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

  /** Why a save was asked for that has not begun yet; null when none was. */
  get wanted(): SaveReason | null {
    return this.#wanted;
  }

  add(rank: Rank): void {
    this.#steps.set(rank, null);
  }

  remove(rank: Rank): void {
    this.#steps.delete(rank);
  }

  note(rank: Rank, step: number, stepMs: number | null): void {
    const isFirst = this.#furthest() === null;
    this.#steps.set(rank, step);
    // Ranks that have not begun cannot agree on a step; now they can.
    if (isFirst && this.#wanted !== null && this.count > 1) this.ask(this.#wanted, stepMs);
  }

  /** Asks for a save: a single rank at its next step, several at a step that all of them have ahead. */
  ask(why: SaveReason, stepMs: number | null): void {
    this.#wanted = why;
    const furthest = this.#furthest();
    if (this.count > 1 && furthest === null) return;
    const ahead = Math.ceil(LEAST_AHEAD + (stepMs === null || stepMs <= 0 ? 0 : AHEAD_MS / stepMs)) * this.#patience;
    this.#at = this.count > 1 ? (furthest ?? 0) + ahead : null;
    for (const rank of this.#steps.keys()) rank.send({ type: 'save', why, at: this.#at });
  }

  /** A rank was past the step that all were asked for: the next one lies further ahead. Others that say so of the same step change nothing. */
  askLater(rank: Rank, { at, step }: { readonly at: number; readonly step: number }, stepMs: number | null): void {
    this.#steps.set(rank, step);
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

  #furthest(): number | null {
    const steps = [...this.#steps.values()].filter((step) => step !== null);
    return steps.length === 0 ? null : Math.max(...steps);
  }
}
