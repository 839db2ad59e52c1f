import type { SaveReason } from '../sdk/protocol.ts';
import type { Rank } from '../sdk/sdk-server.ts';

/**
 * How far ahead a save is requested. Ranks report a few times a second, so a step this far ahead of
 * the last report is still to come for every rank.
 */
const AHEAD_MS = 400;
/**
 * The most steps ahead, counted in reports. A rank's reports are at least a quarter of a second
 * apart, so it makes fewer steps than this within AHEAD_MS.
 */
const REPORTS_AHEAD = 2;
const REMEMBERED = 16;
const LEAST_AHEAD = 2;
const MOST_PATIENCE = 16;

/** The ranks that are asked to save, and their progress. */
export interface Asked {
  readonly ranks: readonly Rank[];
  /** The ranks agree among themselves on the step at which all of them save. */
  readonly areAgreeing: boolean;
  /** The furthest step that a rank has made; null: no rank has begun. */
  readonly furthest: number | null;
}

/** Tracks one requested save, until the save begins or is no longer wanted. */
export class SaveRequest {
  /** The number of steps between recent reports. */
  #strides: readonly number[] = [];
  #why: SaveReason | null = null;
  /** The step that several ranks were asked to save. */
  #at: number | null = null;
  /** Grows when a rank was already past that step. */
  #patience = 1;

  /** The reason for a requested save that has not begun; null when none is requested. */
  get why(): SaveReason | null {
    return this.#why;
  }

  /** Notes how many steps a rank has made since its last report. */
  noteStride(steps: number): void {
    if (steps > 0) this.#strides = [...this.#strides, steps].slice(-REMEMBERED);
  }

  /**
   * Asks for a save. A single rank saves at its next step; several save where they agree, or at a
   * step ahead of all of them.
   */
  ask(why: SaveReason, { ranks, areAgreeing, furthest }: Asked, stepMs: number | null): void {
    this.#why = why;
    if (ranks.length === 1 || areAgreeing) this.#at = null;
    // Before a rank has begun there is no step to meet at.
    else if (furthest === null) return;
    else this.#at = furthest + Math.ceil(LEAST_AHEAD + this.#stepsAhead(stepMs)) * this.#patience;
    for (const rank of ranks) rank.send({ type: 'save', why, at: this.#at });
  }

  /**
   * Moves the save further ahead, because a rank was already past its step. Returns false for a
   * step that was moved before.
   */
  postpone(at: number): boolean {
    if (at !== this.#at) return false;
    this.#patience = Math.min(MOST_PATIENCE, this.#patience * 2);
    return this.#why !== null;
  }

  /** Ends the request and returns its reason, because the save has begun or is no longer wanted. */
  settle(): SaveReason | null {
    const why = this.#why;
    this.#why = null;
    this.#at = null;
    this.#patience = 1;
    return why;
  }

  /**
   * The number of steps that the ranks make until all have received the request. Delayed reports
   * that arrive together make steps look instant, and a save that far ahead would never come. The
   * strides between reports do not depend on delays.
   */
  #stepsAhead(stepMs: number | null): number {
    if (stepMs === null || stepMs <= 0) return 0;
    const most = this.#strides.length === 0 ? Infinity : REPORTS_AHEAD * Math.max(...this.#strides);
    return Math.min(AHEAD_MS / stepMs, most);
  }
}
