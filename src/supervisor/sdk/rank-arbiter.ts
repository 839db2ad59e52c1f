import type { Rank, SdkListener } from './sdk-server.ts';

/** Listens to the ranks, one process for each number. */
export interface ArbiterListener extends SdkListener {
  /** Welcomes a process that attaches as a rank that is already here; its messages do not count. */
  greetDouble(rank: Rank): void;
}

type Said = Parameters<SdkListener['onMessage']>[1];

/**
 * Lets one process take part for each rank number. Two would write the same files, and seal a
 * mixture. The seat belongs to the first process. While that one does not train, the next process
 * that does something takes the seat. A process that trains keeps the seat until it leaves, and the
 * seat is then free. A process that only waits, such as a helper of the trainer, does not take it:
 * it would look like a restarted trainer, and reset what the trainer reported.
 */
export class RankArbiter implements SdkListener {
  readonly #inner: ArbiterListener;
  readonly #seated = new Map<number, Rank>();
  readonly #doubles = new Set<Rank>();
  readonly #training = new Set<Rank>();
  /** The last message of each lasting kind; it is replayed when its process takes a seat. */
  readonly #lasting = new Map<Rank, ReadonlyMap<string, Said>>();
  #hasTold = false;
  #hasToldRefused = false;

  constructor(inner: ArbiterListener) {
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
    if (this.#doubles.has(rank) && !this.#admitDouble(rank, message)) this.#turnAway(rank, message);
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

  /** Gives a double the seat if its message shows that it trains; true when the message counts. */
  #admitDouble(rank: Rank, message: Said): boolean {
    const seated = this.#seated.get(rank.rank);
    if (seated !== undefined && this.#training.has(seated)) return false;
    // These need no seat: a question about the checkpoint, and a finish that the process in the
    // seat may have sent already.
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

  /** Answers the request of a double; there is no answer while the seat is free. */
  #turnAway(rank: Rank, message: Said): void {
    const seated = this.#seated.get(rank.rank);
    if (seated === undefined) return;
    const reason = `process ${seated.pid} has also attached as rank ${rank.rank} and takes part instead`;
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

  /** Reports this once: a launcher that starts one process too many may start very many. */
  #tell({ pid, rank, world }: Rank, double: Rank): void {
    if (this.#hasTold) return;
    this.#hasTold = true;
    this.#inner.onComplaint(
      `processes ${pid} and ${double.pid} have both attached as rank ${rank} of ${world}: only one of them takes part in saves. Start ranks with torchrun, or attach after torch.distributed is initialised; a process that does not train need not attach`,
    );
  }
}

/**
 * Whether only a process that trains sends this. A reservation counts, because the memory must not
 * be taken away.
 */
function showsTraining({ type }: Said): boolean {
  return type === 'step' || type === 'begin' || type === 'reserve';
}

/** Whether a process that trains may send this before its first step, or without one. */
function showsWork(message: Said): boolean {
  return message.type === 'finish' || (message.type === 'busy' && message.what !== null);
}
