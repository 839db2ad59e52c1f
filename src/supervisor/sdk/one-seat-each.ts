import type { Rank, SdkListener } from './server.ts';

/** Who listens to the ranks, one of each number. */
export interface SeatedListener extends SdkListener {
  /** One that says it is a rank that is here already: it is welcomed, and does not count. */
  greetDouble(rank: Rank): void;
}

type Said = Parameters<SdkListener['onMessage']>[1];

/**
 * Of several processes that say they are the same rank one takes part: two would write the same files, and what they sealed together would be neither
 * one's. The seat belongs to the first that came, or, as long as that one does not train, to the next that does something. Whoever trains keeps it
 * until it leaves. Then it is free: one that only waits, as a helper of the trainer may, must not seem to be a trainer that has begun anew, for which
 * nothing counts that was said before.
 */
export class OneSeatEach implements SdkListener {
  readonly #inner: SeatedListener;
  readonly #seated = new Map<number, Rank>();
  readonly #doubles = new Set<Rank>();
  readonly #training = new Set<Rank>();
  /** What was said last of each kind that holds on: it is said again for whoever takes a seat. */
  readonly #lasting = new Map<Rank, ReadonlyMap<string, Said>>();
  #hasTold = false;
  #hasToldRefused = false;

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
    if (this.#doubles.has(rank) && !this.#isHeard(rank, message)) this.#turnAway(rank, message);
    else {
      if (showsTraining(message)) this.#training.add(rank);
      this.#inner.onMessage(rank, message);
    }
    if (message.type === 'busy' || message.type === 'agrees')
      this.#lasting.set(rank, new Map([...(this.#lasting.get(rank) ?? []), [message.type, message]]));
  }

  onGone(rank: Rank): void {
    this.#training.delete(rank);
    this.#lasting.delete(rank);
    if (!this.#doubles.delete(rank)) this.#leaveSeat(rank);
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
    for (const message of this.#lasting.get(rank)?.values() ?? []) this.#inner.onMessage(rank, message);
  }

  #leaveSeat(rank: Rank): void {
    this.#seated.delete(rank.rank);
    this.#inner.onGone(rank);
  }

  /** Whether what a double says counts, mostly because it takes the seat with it. */
  #isHeard(rank: Rank, message: Said): boolean {
    const seated = this.#seated.get(rank.rank);
    if (seated !== undefined && this.#training.has(seated)) return false;
    // Nobody needs a seat to ask what there is, nor to confirm what the one that had it may have said already.
    if (message.type === 'take' || (message.type === 'finish' && seated === undefined)) return true;
    if (!showsTraining(message) && (seated === undefined || !showsWork(message))) return false;
    this.#doubles.delete(rank);
    if (seated !== undefined) {
      this.#leaveSeat(seated);
      this.#doubles.add(seated);
    }
    this.#seat(rank);
    return true;
  }

  /** Whoever waits for an answer gets one; where the seat is free, nobody does. */
  #turnAway(rank: Rank, message: Said): void {
    const seated = this.#seated.get(rank.rank);
    if (seated === undefined) return;
    const reason = `process ${seated.pid} is rank ${rank.rank} too, and takes part in its place`;
    switch (message.type) {
      case 'begin':
        if (!this.#hasToldRefused) this.#inner.onComplaint(`process ${rank.pid} did not save step ${message.step}: ${reason}`);
        this.#hasToldRefused = true;
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

  /** Once: what starts one process too many may start very many. */
  #tell({ pid, rank, world }: Rank, double: Rank): void {
    if (this.#hasTold) return;
    this.#hasTold = true;
    this.#inner.onComplaint(
      `processes ${pid} and ${double.pid} have both attached as rank ${rank} of ${world}: one of them alone takes part in saves. Start ranks with torchrun, or attach after torch.distributed is initialised; a process that does not train need not attach`,
    );
  }
}

/** Nobody says this that does not train; what was reserved for it must not be taken away either. */
function showsTraining({ type }: Said): boolean {
  return type === 'step' || type === 'begin' || type === 'reserve';
}

/** One that trains may say this before its first step, or without one. */
function showsWork(message: Said): boolean {
  return message.type === 'finish' || (message.type === 'busy' && message.what !== null);
}
