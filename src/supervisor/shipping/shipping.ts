import type { OpenStore } from '../../store/folder/store.ts';
import type { Clock } from '../../core/clock.ts';
import type { RunLog } from '../base/run-log.ts';
import type { Notices } from '../notices/notices.ts';
import type { RunOptions } from '../settings/run-options.ts';
import { fetchNewer, hearDecision, identifyRemote, type RemoteRunOptions, takeRemoteNumber } from './remote-run.ts';
import type { ShipSettings } from '../settings/ship-settings.ts';
import { Shipper } from './shipper.ts';
import { DEFAULT_PATIENCE_MS, StartPatience } from './start-patience.ts';

interface ShippingWorld {
  readonly clock: Clock;
  readonly log: RunLog;
  readonly notices: Notices;
  /** Called with what the start is waiting for, before there is a trainer. */
  readonly onWait?: (sentence: string) => void;
}

/**
 * The copies of a run in an object store: the start may resume from them, and the run ships to
 * them.
 */
export class Shipping {
  /** The run of the copies; null while there are none, or the store does not answer. */
  readonly run: string | null;
  readonly #remote: Omit<RemoteRunOptions, 'signal' | 'patience'>;
  readonly #newPatience: () => StartPatience;
  #patience: StartPatience;
  #lives = 0;
  #shipper: Shipper | null = null;

  private constructor(run: string | null, remote: Omit<RemoteRunOptions, 'signal' | 'patience'>, newPatience: () => StartPatience) {
    this.run = run;
    this.#remote = remote;
    this.#newPatience = newPatience;
    this.#patience = newPatience();
  }

  /**
   * Finds the run of the copies before anything is written here; null when the run is stopped
   * meanwhile.
   */
  static async open(ship: ShipSettings, options: RunOptions, { clock, log, notices, onWait }: ShippingWorld): Promise<Shipping | null> {
    const early = new AbortController();
    void notices.terminating.then(() => early.abort());
    const remote = { ship, clock, env: options.env, log };
    const newPatience = (): StartPatience =>
      new StartPatience({
        url: ship.location.url,
        clock,
        patienceMs: ship.patienceMs ?? DEFAULT_PATIENCE_MS,
        onWait: (sentence) => {
          log.say(sentence);
          onWait?.(sentence);
        },
      });
    try {
      const run = await identifyRemote(options.dir, { ...remote, signal: early.signal, patience: newPatience() });
      return new Shipping(run, remote, newPatience);
    } catch (thrown) {
      if (notices.first !== null) return null;
      throw thrown;
    }
  }

  /**
   * Takes an attempt number that no other node has; null when this start may do without the store,
   * and the folder's own numbers have to do.
   */
  takeNumber(store: OpenStore, gang: string, signal: AbortSignal): Promise<number | null> {
    // Each life of the trainer gets its own patience.
    if (this.#lives++ > 0) this.#patience = this.#newPatience();
    return takeRemoteNumber(store, gang, { ...this.#remote, patience: this.#patience, signal });
  }

  /** Applies a rollback from another node. */
  hearDecision(store: OpenStore, signal: AbortSignal): Promise<void> {
    return hearDecision(store, { ...this.#remote, patience: this.#patience, signal });
  }

  /** Fetches a copy newer than the best checkpoint here; true when there was one. */
  fetchNewer(store: OpenStore, best: { readonly attempt: number; readonly step: number } | null, signal: AbortSignal): Promise<boolean> {
    return fetchNewer(store, best, { ...this.#remote, patience: this.#patience, signal });
  }

  /** Starts to ship: the existing checkpoint, then each new one. */
  begin(store: OpenStore): void {
    this.#shipper ??= new Shipper({ ...this.#remote, store });
  }

  /** Tells the shipper that a checkpoint was sealed. */
  note(): void {
    this.#shipper?.note();
  }

  /** Ships the rest, as far as there is time. */
  async finish(notices: Notices, isDiskSilent: boolean): Promise<void> {
    await this.#shipper?.finish(notices, isDiskSilent);
  }

  /** Ends the shipper; false when it waits for a disk that does not answer. */
  async close(patienceMs: number, isDiskSilent: boolean): Promise<boolean> {
    return (await this.#shipper?.close(patienceMs, isDiskSilent)) ?? true;
  }
}
