import type { OpenStore } from '../checkpoint/store/store.ts';
import type { NominalGrace } from '../domain/effective-grace.ts';
import { decideFlush } from '../domain/flush-decision.ts';
import { Book } from './book.ts';
import { announce, flushFacts, noticeSentence, stagedSave } from './ending.ts';
import { leaveProvisional } from './last-words.ts';
import type { Life } from './life.ts';
import { Notices } from './notices.ts';

export interface RehearsalWorld {
  readonly store: OpenStore;
  readonly options: { readonly grace: NominalGrace };
  readonly notices: Pick<Notices, 'first'>;
  readonly book: Book;
  readonly current: { readonly life: Life | null };
}

/** By then every function has been compiled, and knows what it is called with. */
const TIMES = 5;
/** Saves may come every second; what was done a minute ago is still known. */
const LEAST_PAUSE_MS = 60_000;
const NOWHERE = '/dev/null';
const NO_ATTEMPT = { attempt: 0, gang: '' };
const NO_SURROUNDING = { node: null, pressure: [], limits: [] } as const;

/**
 * Plays what follows a notice, from the signal to the decision, with nobody listening. What a process does for the first time takes several times as long:
 * its functions are compiled when they are first called, the collector throws those away that were not needed for a while, and what earlier attempts
 * have taught is read when it is first asked for. A notice comes once, and has no time to give for that.
 *
 * Nothing is recorded, said or begun, and what goes on is not touched.
 */
export class Rehearsal {
  readonly #world: RehearsalWorld;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(world: RehearsalWorld) {
    this.#world = world;
  }

  /** When there is nothing else to do, unless that was a moment ago. */
  soon(): void {
    const now = this.#world.store.clock.monotonic();
    if (now - this.#lastMs < LEAST_PAUSE_MS) return;
    this.#lastMs = now;
    setImmediate(() => this.play());
  }

  play(): void {
    const { current, notices, book } = this.#world;
    if (current.life === null || notices.first !== null) return;
    try {
      for (let time = 0; time < TIMES; time++) this.#playOnce(current.life);
    } catch (thrown) {
      // The notice itself would meet the same.
      book.complain(thrown);
    }
  }

  #playOnce(life: Life): void {
    const { store, options, book: real } = this.#world;
    const { clock } = store;
    const book = new Book({ dir: store.path, node: real.node, clock, terminationLog: NOWHERE, say: nobody, shout: nobody });
    const listener = { onNotice: (notice: Parameters<typeof noticeSentence>[0]) => book.say(noticeSentence(notice)), onWithdrawn: nobody };
    const notices = new Notices(clock, options.grace, listener, () => NO_SURROUNDING);
    notices.hear('SIGTERM');
    leaveProvisional({ store, attempt: NO_ATTEMPT, book, life, notices });
    const deciding = { store, book, life, notices };
    announce(deciding);
    decideFlush({ ...flushFacts(deciding), staged: stagedSave(life) });
  }
}

function nobody(): void {}
