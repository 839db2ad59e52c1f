import type { Rank, SdkListener } from './server.ts';

/** Who listens to the ranks, one of each number. */
export interface SeatedListener extends SdkListener {
  /** One that says it is a rank that is here already: it is welcomed, and does not count. */
  greetDouble(rank: Rank): void;
}

type Said = Parameters<SdkListener['onMessage']>[1];

/**
 * Of several processes that say they are the same rank one takes part: two would write the same files, and what they sealed together would be neither
 * one's. The seat belongs to the first that came, or, as long as that one has only attached, to the first that makes a step. When it leaves, the one
 * that has waited longest takes its place.
 */
export class OneSeatEach implements SdkListener {
  readonly #inner: SeatedListener;
  readonly #seated = new Map<number, Rank>();
  readonly #doubles = new Set<Rank>();
  /** Those that have said anything: they train. */
  readonly #speaking = new Set<Rank>();
  #hasTold = false;

  constructor(inner: SeatedListener) {
    this.#inner = inner;
  }

  onRank(rank: Rank): void {
    const seated = this.#seated.get(rank.rank);
    if (seated === undefined) return this.#seat(rank);
    this.#doubles.add(rank);
    this.#inner.greetDouble(rank);
    this.#tell(seated, rank);
  }

  onMessage(rank: Rank, message: Said): void {
    if (this.#doubles.has(rank) && !this.#takesSeat(rank, message)) return turnAway(rank, message, this.#seated.get(rank.rank));
    this.#speaking.add(rank);
    this.#inner.onMessage(rank, message);
  }

  onGone(rank: Rank): void {
    this.#speaking.delete(rank);
    if (this.#doubles.delete(rank)) return;
    this.#leaveSeat(rank);
    const next = this.#doubles.values().find((double) => double.rank === rank.rank);
    if (next === undefined) return;
    this.#doubles.delete(next);
    this.#seat(next);
  }

  onComplaint(text: string): void {
    this.#inner.onComplaint(text);
  }

  onDefect(thrown: unknown): void {
    this.#inner.onDefect(thrown);
  }

  #seat(rank: Rank): void {
    this.#seated.set(rank.rank, rank);
    this.#inner.onRank(rank);
  }

  #leaveSeat(rank: Rank): void {
    this.#seated.delete(rank.rank);
    this.#inner.onGone(rank);
  }

  /** A process that only attaches, as a helper of the trainer may, does not keep the one that trains from its saves. */
  #takesSeat(rank: Rank, { type }: Said): boolean {
    const seated = this.#seated.get(rank.rank);
    if (seated === undefined || this.#speaking.has(seated) || (type !== 'step' && type !== 'begin')) return false;
    this.#doubles.delete(rank);
    this.#leaveSeat(seated);
    this.#doubles.add(seated);
    this.#seat(rank);
    return true;
  }

  /** Once: what starts one process too many may start very many. */
  #tell({ pid, rank, world }: Rank, double: Rank): void {
    if (this.#hasTold) return;
    this.#hasTold = true;
    this.#inner.onComplaint(
      `processes ${pid} and ${double.pid} have both attached as rank ${rank} of ${world}: one of them alone takes part in saves. Start ranks with torchrun, or attach after torch.distributed is initialised; a process that does not train need not attach`,
    );
  }
}

/** Whoever waits for an answer gets one. */
function turnAway(rank: Rank, message: Said, seated: Rank | undefined): void {
  const reason = `process ${seated?.pid ?? 0} is rank ${rank.rank} too, and takes part in its place`;
  switch (message.type) {
    case 'begin':
      return rank.send({ type: 'refused', step: message.step, code: 'SAVE_MIXED', reason });
    case 'reserve':
      return rank.send({ type: 'reserved', path: null, reason });
    case 'take':
      return rank.send({ type: 'taken', step: message.step, resume: null, reason });
    case 'finish':
      return rank.send({ type: 'bye' });
    default:
      return;
  }
}
