import type { SaveReason } from '../sdk/protocol.ts';
import type { Rank } from '../sdk/sdk-server.ts';
import { SaveRequest } from './save-request.ts';

/** Tracks the connected ranks, the progress of each, and the save that they were asked for. */
export class Ranks {
  readonly #steps = new Map<Rank, number | null>();
  /**
   * The ranks that agree among themselves at which step all save, and the longest time that
   * agreeing takes.
   */
  readonly #agreeing = new Map<Rank, number>();
  /** The ranks that report a long operation. */
  readonly #busy = new Set<Rank>();
  /** The numbers of all ranks that have connected since the first one did. */
  readonly #seen = new Set<number>();
  readonly #request = new SaveRequest();

  /** The connected ranks, by their number. */
  get all(): readonly Rank[] {
    return [...this.#steps.keys()].sort((a, b) => a.rank - b.rank);
  }

  get count(): number {
    return this.#steps.size;
  }

  /**
   * The numbers of the ranks that left while others stay connected. The list starts anew when all
   * ranks have left.
   */
  get lost(): readonly number[] {
    const here = new Set(this.all.map(({ rank }) => rank));
    return [...this.#seen].filter((rank) => !here.has(rank)).sort((a, b) => a - b);
  }

  /** The furthest step that a rank is known to have made; null: no rank has made one. */
  get furthest(): number | null {
    const steps = [...this.#steps.values()].filter((step) => step !== null);
    return steps.length === 0 ? null : Math.max(...steps);
  }

  /** True while a rank reports a long operation: the others may wait for it. */
  get areBusy(): boolean {
    return this.#busy.size > 0;
  }

  /** The reason for a requested save that has not begun; null when none is requested. */
  get wanted(): SaveReason | null {
    return this.#request.why;
  }

  /** True when the ranks themselves agree on the step at which all of them save. */
  get areAgreeing(): boolean {
    return this.count > 1 && this.#doAllAgree;
  }

  /** True when the ranks on this node agree with each other and with those of other nodes. */
  get canAgree(): boolean {
    return this.count > 0 && this.#doAllAgree;
  }

  /** The longest time until a requested save is due, beyond the current step. */
  get agreementMs(): number {
    // A single rank on this node agrees with the ranks of other nodes.
    return this.#doAllAgree ? Math.max(0, ...this.#agreeing.values()) : 0;
  }

  get #doAllAgree(): boolean {
    return this.all.every((rank) => this.#agreeing.has(rank));
  }

  /** Notes how long a rank needs to agree with the others; null: it no longer can. */
  agrees(rank: Rank, withinMs: number | null, stepMs: number | null): void {
    if (withinMs !== null) this.#agreeing.set(rank, withinMs);
    // The earlier request relied on an agreement, so it is sent again with a step.
    else if (this.#agreeing.delete(rank)) this.#askAgain(stepMs);
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

  /** Returns true when this changes what is known of the rank. */
  noteBusy(rank: Rank, isBusy: boolean): boolean {
    if (isBusy === this.#busy.has(rank)) return false;
    if (isBusy) this.#busy.add(rank);
    else this.#busy.delete(rank);
    return true;
  }

  /** Notes the step that a rank reports. */
  note(rank: Rank, step: number, stepMs: number | null): void {
    const isFirst = this.furthest === null;
    this.#request.noteStride(step - (this.#steps.get(rank) ?? step));
    this.#steps.set(rank, step);
    // Ranks without a step could not be given a step to save at; now they can.
    if (isFirst && this.count > 1 && !this.areAgreeing) this.#askAgain(stepMs);
  }

  /** Asks all ranks for a save. */
  ask(why: SaveReason, stepMs: number | null): void {
    const { areAgreeing, furthest } = this;
    this.#request.ask(why, { ranks: [...this.#steps.keys()], areAgreeing, furthest }, stepMs);
  }

  /**
   * Moves the requested save further ahead, because a rank was already past its step. More ranks
   * that report the same step change nothing.
   */
  askLater(rank: Rank, { at, step }: { readonly at: number; readonly step: number }, stepMs: number | null): void {
    // A rank that has just left the step counts too: it is computing the next one.
    this.#steps.set(rank, Math.max(step, at + 1));
    if (this.#request.postpone(at)) this.#askAgain(stepMs);
  }

  /** Ends the request, because the save has begun or is no longer wanted. */
  settle(): SaveReason | null {
    return this.#request.settle();
  }

  /** Withdraws the request. */
  relax(): void {
    if (this.settle() === null) return;
    for (const rank of this.#steps.keys()) rank.send({ type: 'relax' });
  }

  #askAgain(stepMs: number | null): void {
    const { wanted } = this;
    if (wanted !== null) this.ask(wanted, stepMs);
  }
}
