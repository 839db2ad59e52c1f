import { newestNumber } from '../../checkpoint/store/attempt.ts';
import type { OpenStore } from '../../checkpoint/store/store.ts';
import type { Clock } from '../../core/clock.ts';
import type { Book } from '../book.ts';
import type { Notices } from '../notices.ts';
import type { RunOptions } from '../options.ts';
import { fetchNewer, hearDecision, identifyRemote, type RemoteRunOptions, takeRemoteNumber } from './remote-run.ts';
import type { ShipSettings } from './settings.ts';
import { Shipper } from './shipper.ts';

interface ShippingWorld {
  readonly clock: Clock;
  readonly book: Book;
  readonly notices: Notices;
}

/** The copies of a run in another place, from its start, when they may be what it resumes from, to its end. */
export class Shipping {
  /** The run that the copies belong to; null while there are none, or nobody can tell. */
  readonly run: string | null;
  readonly #remote: Omit<RemoteRunOptions, 'signal'>;
  #shipper: Shipper | null = null;

  private constructor(run: string | null, remote: Omit<RemoteRunOptions, 'signal'>) {
    this.run = run;
    this.#remote = remote;
  }

  /** Asks whose copies these are, before anything is written here; null when the run is told to end meanwhile. */
  static async open(ship: ShipSettings, options: RunOptions, { clock, book, notices }: ShippingWorld): Promise<Shipping | null> {
    const early = new AbortController();
    void notices.terminating.then(() => early.abort());
    const remote = { ship, clock, env: options.env, book };
    try {
      return new Shipping(await identifyRemote(options.dir, { ...remote, signal: early.signal }), remote);
    } catch (thrown) {
      if (notices.first !== null) return null;
      throw thrown;
    }
  }

  /** A number for the next attempt that no other node has; null: the folder's own have to do. */
  takeNumber(store: OpenStore, gang: string, signal: AbortSignal): Promise<number | null> {
    return takeRemoteNumber({ ...this.#remote, signal, gang, above: newestNumber(store) });
  }

  /** Takes over what was decided elsewhere. */
  hearDecision(store: OpenStore, signal: AbortSignal): Promise<void> {
    return hearDecision(store, { ...this.#remote, signal });
  }

  /** Brings what is newer than the best that is here; true when there is something new. */
  fetchNewer(store: OpenStore, best: { readonly attempt: number; readonly step: number } | null, signal: AbortSignal): Promise<boolean> {
    return fetchNewer(store, best, { ...this.#remote, signal });
  }

  /** Ships from now on: what is there, and what is noted to be new. */
  begin(store: OpenStore): void {
    this.#shipper ??= new Shipper({ ...this.#remote, store });
  }

  /** Something was sealed. */
  note(): void {
    this.#shipper?.note();
  }

  /** Ships what is left, as far as there is time. */
  async finish(notices: Notices, isDiskSilent: boolean): Promise<void> {
    await this.#shipper?.finish(notices, isDiskSilent);
  }

  /** Ends what goes on; false when something waits for a disk that does not answer. */
  async close(patienceMs: number, isDiskSilent: boolean): Promise<boolean> {
    return (await this.#shipper?.close(patienceMs, isDiskSilent)) ?? true;
  }
}
