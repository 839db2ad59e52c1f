import type { Clock } from '../../core/clock.ts';
import { toError } from '../../core/errors.ts';
import type { Rng } from '../../core/rng.ts';
import type { ApiObject } from '../api/api-object.ts';
import type { KubeApi, Selection, WatchEvent } from '../api/kube-api.ts';
import type { Failure, Outcome } from '../api/outcome.ts';
import type { Resource } from '../api/resource.ts';
import { Backoff } from './backoff.ts';
import type { Store, StoreChange } from './store.ts';

/** What a reflector mirrors, and where to. */
export interface ReflectorOptions {
  readonly api: KubeApi;
  readonly resource: Resource;
  readonly selection: Selection;
  readonly store: Store;
  /** Keeps the fields that are needed, before an object is stored. */
  readonly trim: (object: ApiObject) => ApiObject;
  /** Hears of every change of the store. What it throws is reported and changes nothing here. */
  readonly onChange: (change: StoreChange) => void;
  /** Hears of a failed request, and of an error of `onChange`. */
  readonly onTrouble: (trouble: Failure | Error) => void;
  readonly clock: Clock;
  readonly rng: Rng;
}

/** A reflector is behind in `listing` and `waiting`, and up to date in `watching`. */
export type ReflectorState = 'listing' | 'watching' | 'waiting';

const PAGE = 500;
/** The API server ends a watch after this time, plus up to as much again. */
const WATCH_SECONDS = 300;
/** The API server sends a bookmark every minute, so a longer silence is a dead connection. */
const SILENCE_MS = 90_000;
const PAUSES = { firstMs: 500, mostMs: 30_000 };

/**
 * Mirrors the objects of one kind into a store, for ever.
 *
 * Listing: all pages of one list are read; the store then holds exactly them.
 * Watching: changes since the list reach the store. A watch that ends, fails or falls silent is
 * opened again from the last version; one that is too old goes back to listing.
 * Waiting: after a failure, the reflector pauses, longer each time, and then repeats what failed.
 * It never gives up: a missing kind may be installed, a permission may be granted.
 */
export class Reflector {
  readonly #options: ReflectorOptions;
  readonly #backoff: Backoff;
  readonly #synced = Promise.withResolvers<void>();
  #state: ReflectorState = 'listing';
  #failure: Failure | null = null;
  #hasSynced = false;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#backoff = new Backoff(PAUSES, options.rng);
  }

  get resource(): Resource {
    return this.#options.resource;
  }

  get state(): ReflectorState {
    return this.#state;
  }

  /** Why it is behind; null: it is not, or not yet known to be. */
  get failure(): Failure | null {
    return this.#failure;
  }

  /** Whether the store has once held all objects. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Fulfilled when the store has once held all objects. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Mirrors until the signal ends it; rejects with its reason. */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<never> {
    for (;;) {
      this.#state = 'listing';
      const version = await this.#list(signal);
      if (version === null) continue;
      this.#state = 'watching';
      await this.#watchFrom(version, signal);
    }
  }

  /** The version of the list that the store now holds; null: it failed, and a pause was made. */
  async #list(signal: AbortSignal): Promise<string | null> {
    const { api, resource, selection, store, trim } = this.#options;
    const objects: ApiObject[] = [];
    let continueAt: string | null = null;
    let version: string;
    do {
      const page: Outcome<{ items: readonly ApiObject[]; resourceVersion: string; continueAt: string | null }> = await api.list(
        resource,
        { ...selection, limit: PAGE, continueAt },
        { signal },
      );
      if (!page.ok) {
        await this.#pause(page, signal);
        return null;
      }
      for (const item of page.value.items) objects.push(trim(item));
      ({ continueAt, resourceVersion: version } = page.value);
    } while (continueAt !== null);
    this.#failure = null;
    for (const change of store.replaceAll(objects)) this.#report(change);
    this.#hasSynced = true;
    this.#synced.resolve();
    return version;
  }

  /** Watches until the version is too old. */
  async #watchFrom(from: string, signal: AbortSignal): Promise<void> {
    const { clock, rng } = this.#options;
    let version = from;
    for (;;) {
      const begunMs = clock.monotonic();
      let isProductive = false;
      const outcome = await this.#watchOnce(version, {
        signal,
        timeoutSeconds: WATCH_SECONDS + rng.integer(0, WATCH_SECONDS),
        hear: (event) => {
          isProductive = true;
          version = event.type === 'bookmark' ? event.resourceVersion : event.object.metadata.resourceVersion;
          this.#apply(event);
        },
      });
      signal.throwIfAborted();
      const isHealthy = isProductive || clock.monotonic() - begunMs > SILENCE_MS / 2;
      if (isHealthy) this.#recovered();
      if (outcome !== null && !outcome.ok && outcome.kind === 'gone') return;
      // A watch that ends at once and says nothing would otherwise be opened in a tight loop.
      if ((outcome === null || outcome.ok) && isHealthy) continue;
      await this.#pause(outcome === null || outcome.ok ? null : outcome, signal);
      this.#state = 'watching';
    }
  }

  /** One watch. Null: it fell silent and was given up. */
  async #watchOnce(
    resourceVersion: string,
    { signal, timeoutSeconds, hear }: { signal: AbortSignal; timeoutSeconds: number; hear: (event: WatchEvent) => void },
  ): Promise<Outcome<null> | null> {
    const { api, resource, selection, clock } = this.#options;
    const silent = new AbortController();
    const over = new AbortController();
    let heardMs = clock.monotonic();
    const guard = watchSilence({ clock, over: over.signal, lastMs: () => heardMs, silent });
    const query = { ...selection, resourceVersion, timeoutSeconds };
    const heard = (event: WatchEvent): void => {
      heardMs = clock.monotonic();
      hear(event);
    };
    try {
      return await api.watch(resource, query, heard, { signal: AbortSignal.any([signal, silent.signal]) });
    } catch (thrown) {
      signal.throwIfAborted();
      if (silent.signal.aborted) return null;
      throw thrown;
    } finally {
      over.abort(new Error('the watch is over'));
      await guard;
    }
  }

  #apply(event: WatchEvent): void {
    if (event.type === 'bookmark') return;
    const { store, trim } = this.#options;
    const change = event.type === 'deleted' ? store.remove(event.object) : store.put(trim(event.object));
    if (change !== null) this.#report(change);
  }

  #report(change: StoreChange): void {
    try {
      this.#options.onChange(change);
    } catch (thrown) {
      this.#options.onTrouble(toError(thrown));
    }
  }

  #recovered(): void {
    this.#failure = null;
    this.#backoff.reset();
  }

  async #pause(failure: Failure | null, signal: AbortSignal): Promise<void> {
    this.#state = 'waiting';
    this.#failure = failure;
    if (failure !== null) this.#options.onTrouble(failure);
    await this.#options.clock.sleep(Math.max(this.#backoff.next(), failure?.retryAfterMs ?? 0), { signal });
  }
}

interface Silence {
  readonly clock: Clock;
  readonly over: AbortSignal;
  readonly lastMs: () => number;
  readonly silent: AbortController;
}

/** Aborts `silent` after a long silence; ends when `over` is aborted. */
async function watchSilence({ clock, over, lastMs, silent }: Silence): Promise<void> {
  for (;;) {
    const leftMs = lastMs() + SILENCE_MS - clock.monotonic();
    if (leftMs <= 0) return silent.abort(new Error('the watch fell silent'));
    try {
      await clock.sleep(leftMs, { signal: over });
    } catch {
      return;
    }
  }
}
