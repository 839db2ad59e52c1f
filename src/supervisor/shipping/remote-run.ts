import { takeAttemptNumber } from '../../checkpoint/ship/attempt-numbers.ts';
import type { ObjectStore } from '../../checkpoint/ship/backend.ts';
import { type Fetched, fetchNewest } from '../../checkpoint/ship/fetch.ts';
import { assertOwner, isLeftOut, isNewer, readOwner } from '../../checkpoint/ship/pointer.ts';
import { exchangeRollback } from '../../checkpoint/ship/remote-rollback.ts';
import type { RetryPolicy } from '../../checkpoint/ship/retry.ts';
import { recordShipped } from '../../checkpoint/ship/shipped.ts';
import { tellRetries } from '../../checkpoint/ship/tell-retries.ts';
import { readRollback } from '../../checkpoint/store/rollback.ts';
import { scan } from '../../checkpoint/store/scan.ts';
import { type OpenStore, readRun } from '../../checkpoint/store/store.ts';
import { formatBytes } from '../../core/bytes.ts';
import type { Clock } from '../../core/clock.ts';
import { formatDuration } from '../../core/duration.ts';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import type { Book } from '../book.ts';
import { openShipStore, PARALLEL, shipLimit, type ShipSettings } from './settings.ts';

export interface RemoteRunOptions {
  readonly ship: ShipSettings;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly book: Book;
  readonly signal: AbortSignal;
}

/** Where there is something to go on from without the remote place, the start does not wait for it long. */
const SHORT_RETRIES: RetryPolicy = { attempts: 3, firstDelayMs: 200, longestDelayMs: 1000 };

/** Whoever waits for a large checkpoint hears of it this often. */
const PROGRESS_MS = 10_000;

/**
 * The run that the copies belong to, before anything is written here: an empty folder becomes one of that run; a folder of another is refused. Null
 * while there are no copies, and where the place cannot be reached but there is something to resume from here. Where there is nothing, an
 * unreachable place is an error: a run that starts from nothing would never be what its copies are copies of.
 */
export async function identifyRemote(dir: string, options: RemoteRunOptions): Promise<string | null> {
  const { ship, clock, book } = options;
  const here = readRun(dir, { clock });
  const hasOwn = here.run !== null && scan(here).sealed.length > 0;
  try {
    return await withRemote({ ...options, ...(hasOwn ? { retries: SHORT_RETRIES } : {}) }, async (remote) => {
      const owner = await readOwner(remote);
      if (owner !== null && here.run !== null) assertOwner(remote, owner, here.run);
      return owner;
    });
  } catch (thrown) {
    if (isConflict(thrown)) throw thrown;
    if (!hasOwn) throw unreachable(ship, thrown);
    options.signal.throwIfAborted();
    book.complain(thrown);
    book.warn(`whether ${ship.location.url} has a newer checkpoint is not known; the run goes on from what is here`);
    return null;
  }
}

/** A number for the attempt that no other node has; null where the remote place cannot be asked: the folder's own numbers then have to do. */
export async function takeRemoteNumber(
  options: RemoteRunOptions & { readonly above: number; readonly gang: string },
): Promise<number | null> {
  try {
    return await withRemote({ ...options, retries: SHORT_RETRIES }, (remote) => takeAttemptNumber(remote, options));
  } catch (thrown) {
    options.signal.throwIfAborted();
    options.book.complain(thrown);
    return null;
  }
}

/** What somebody has decided elsewhere holds here, before anything that an earlier life has left is taken for the newest. */
export async function hearDecision(store: OpenStore, options: RemoteRunOptions): Promise<void> {
  try {
    await withRemote({ ...options, retries: SHORT_RETRIES }, (remote) => hear(remote, store, options.book));
  } catch (thrown) {
    options.signal.throwIfAborted();
    options.book.complain(thrown);
  }
}

/** Brings the newest copy when it is newer than the best that is here. True when the folder is to be looked at again. */
export async function fetchNewer(
  store: OpenStore,
  best: { readonly attempt: number; readonly step: number } | null,
  options: RemoteRunOptions,
): Promise<boolean> {
  try {
    return await withRemote({ ...options, ...(best === null ? {} : { retries: SHORT_RETRIES }) }, (remote, stop) =>
      bring(remote, { ...options, store, best, stop }),
    );
  } catch (thrown) {
    options.signal.throwIfAborted();
    // The decision to roll back may have arrived, and left out what was the best here.
    if (best === null || scan(store).sealed.length === 0) throw thrown;
    options.book.complain(thrown);
    return isLeftOut(best, readRollback(store));
  }
}

interface Bringing extends RemoteRunOptions {
  readonly store: OpenStore;
  readonly best: { readonly attempt: number; readonly step: number } | null;
  readonly stop: AbortController;
}

async function bring(remote: ObjectStore, { store, best, stop, ship, clock, env, book, signal }: Bringing): Promise<boolean> {
  const { url } = ship.location;
  const isDecided = await hear(remote, store, book);
  const own = best !== null && !isLeftOut(best, readRollback(store)) ? best : null;
  const limit = shipLimit(ship, clock);
  let toldMs = clock.monotonic();
  const fetched = await fetchNewest({
    ...{ remote, stop, signal, folder: store.path, limit, parallel: PARALLEL, clock, env },
    isWanted: (copy) => copy.run === store.run && (own === null || isNewer(copy, own)),
    onFound: ({ manifest }) =>
      book.say(`${own === null ? 'nothing is here' : `step ${own.step} is here`}; fetching step ${manifest.step} from ${url}`),
    onSkip: ({ name, code, reason }) =>
      book.warn(`the copy ${name} at ${url} is no good and stays there, an older one is tried: ${reason} [${code}]`),
    onProgress({ done, total }) {
      if (clock.monotonic() - toldMs < PROGRESS_MS) return;
      toldMs = clock.monotonic();
      book.say(`fetched ${formatBytes(done)} of ${formatBytes(total)}`);
    },
  });
  if (fetched === null || fetched.state === 'already') return isDecided;
  noteCopy(store, fetched, ship);
  const { step, bytes, durationMs } = fetched;
  book.record({ kind: 'fetched', step, url, bytes, totalMs: durationMs });
  book.say(`fetched step ${step} (${formatBytes(bytes)}) in ${formatDuration(durationMs)}`);
  return true;
}

/** True when a decision came that was not known here. */
async function hear(remote: ObjectStore, store: OpenStore, book: Book): Promise<boolean> {
  const decision = await exchangeRollback(remote, store);
  if (decision !== null) book.warn(decision);
  return decision !== null;
}

/** What came from there need not be sent there. */
function noteCopy(store: OpenStore, { name, copy, files, bytes }: Fetched, { location }: ShipSettings): void {
  const here = scan(store).sealed.find((one) => one.name === name);
  const shippedAt = new Date(store.clock.now()).toISOString();
  if (here !== undefined) recordShipped(store, here, { url: location.url, name: copy, shippedAt, files, bytes });
}

async function withRemote<T>(
  { ship, clock, env, signal, book, retries }: RemoteRunOptions & { readonly retries?: RetryPolicy },
  use: (remote: ObjectStore, stop: AbortController) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  // Nothing is uploaded in parts here, so nothing is remembered.
  const memory = { get: () => null, set() {}, delete() {} };
  const joined = AbortSignal.any([signal, stop.signal]);
  const onRetry = tellRetries(ship.location.url, (sentence) => book.say(sentence));
  const remote = openShipStore(ship, { clock, env, memory, signal: joined, onRetry, ...(retries === undefined ? {} : { retries }) });
  try {
    return await use(remote, stop);
  } finally {
    await remote[Symbol.asyncDispose]();
  }
}

function isConflict(thrown: unknown): boolean {
  return thrown instanceof HoldfastError && (thrown.code === 'REMOTE_CONFLICT' || thrown.code === 'REMOTE_INVALID');
}

function unreachable({ location }: ShipSettings, thrown: unknown): unknown {
  if (!(thrown instanceof HoldfastError)) return thrown;
  return new HoldfastError(thrown.code, {
    message: `the trainer was not started: nothing is sealed here, and whether ${printable(location.url)} has a checkpoint cannot be known: ${thrown.message}`,
    hint: `${thrown.hint === undefined ? '' : `${thrown.hint} `}Without --ship the run starts from nothing.`,
    cause: thrown,
  });
}
