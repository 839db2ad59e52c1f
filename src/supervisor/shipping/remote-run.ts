import { takeAttemptNumber } from '../../remote/pointer/attempt-numbers.ts';
import type { ObjectStore } from '../../remote/backends/backend.ts';
import { type Fetched, fetchNewest } from '../../remote/fetch/fetch.ts';
import { isLeftOut, isNewer } from '../../remote/pointer/pointer.ts';
import { assertOwner, findOwner } from '../../remote/pointer/whose-prefix.ts';
import { isBadCopy } from '../../remote/pointer/remote-checkpoint.ts';
import { exchangeRollback } from '../../remote/pointer/remote-rollback.ts';
import { RequestFailure } from '../../remote/transfer/failure.ts';
import type { RetryPolicy } from '../../remote/transfer/retry.ts';
import { recordShipped } from '../../remote/copy/shipped.ts';
import { tellRetries } from '../../remote/transfer/tell-retries.ts';
import { newestNumber } from '../../store/attempt/attempt.ts';
import { readRollback } from '../../store/folder/rollback.ts';
import { scan } from '../../store/folder/scan.ts';
import { type OpenStore, readRun } from '../../store/folder/store.ts';
import { formatBytes } from '../../core/bytes.ts';
import type { Clock } from '../../core/clock.ts';
import { formatDuration } from '../../core/duration.ts';
import { HoldfastError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-codes.ts';
import { printable } from '../../core/printable.ts';
import type { RunLog } from '../base/run-log.ts';
import { wasLastMoveOurs } from './own-move.ts';
import type { StartPatience } from './start-patience.ts';
import { openShipStore, PARALLEL, shipLimit, type ShipSettings } from '../settings/ship-settings.ts';

/** What the start of a run needs to use its copies. */
export interface RemoteRunOptions {
  readonly ship: ShipSettings;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: RunLog;
  readonly signal: AbortSignal;
  /** How long this start waits for the store. */
  readonly patience: StartPatience;
  /** Opens the store; a test may replace it. */
  readonly open?: typeof openShipStore;
}

/** A start that can resume without the store waits only briefly for it. */
const SHORT_RETRIES: RetryPolicy = { attempts: 3, firstDelayMs: 200, longestDelayMs: 1000 };

/** How often the start reports progress on a large checkpoint. */
const PROGRESS_MS = 10_000;

/**
 * Finds the run of the copies before the start writes anything. An empty folder becomes one of that
 * run, and a folder of another run is refused. Null while there are no copies. Also null when the
 * store is unreachable and this folder made the last known move of the pointer. Otherwise an
 * unreachable store is an error: the start would ignore possible progress in the copies.
 */
export async function identifyRemote(dir: string, options: RemoteRunOptions): Promise<string | null> {
  const { ship, clock, log } = options;
  const here = readRun(dir, { clock });
  const hasOwn = here.run !== null && scan(here).sealed.length > 0;
  const isOptional = hasOwn && wasLastMoveOurs(dir, ship.location.url);
  try {
    return await withRemote({ ...options, isOptional }, async (remote) => {
      const owner = await findOwner(remote);
      if (owner !== null && here.run !== null) assertOwner(remote, owner, here.run);
      return owner;
    });
  } catch (thrown) {
    if (isConflict(thrown)) throw asUnusable(thrown);
    options.signal.throwIfAborted();
    if (!isOptional) throw resumesBlindly(ship, thrown, hasOwn);
    log.complain(thrown);
    log.warn(`it is unknown whether ${ship.location.url} has a newer checkpoint; the run resumes from the local checkpoints`);
    return null;
  }
}

/**
 * Takes an attempt number that no other node has. Null when the store does not answer and this
 * folder made the last known move of the pointer: the folder's own numbers then have to do.
 * Otherwise a store that gives no number is an error, because another node may have the next
 * number, and the age of their copies could not be compared.
 */
export async function takeRemoteNumber(store: OpenStore, gang: string, options: RemoteRunOptions): Promise<number | null> {
  const { url } = options.ship.location;
  const isOptional = wasLastMoveOurs(store.path, url) && scan(store).sealed.length > 0;
  const wish = { gang, run: store.run, above: newestNumber(store) };
  try {
    return await withRemote({ ...options, isOptional }, (remote) => takeAttemptNumber(remote, wish));
  } catch (thrown) {
    options.signal.throwIfAborted();
    // The prefix belongs to another run, so this run would ship nothing there.
    if (isConflict(thrown)) throw asUnusable(thrown);
    if (!isOptional)
      throw unreachable(
        thrown,
        `another node may have the next attempt number, and ${printable(url)} gave none`,
        'takes a number that other nodes may have',
      );
    options.log.complain(thrown);
    return null;
  }
}

/** Applies a rollback from another node before the start picks the newest checkpoint. */
export async function hearDecision(store: OpenStore, options: RemoteRunOptions): Promise<void> {
  try {
    await withRemote({ ...options, isOptional: true }, (remote) => hear(remote, store, options.log));
  } catch (thrown) {
    options.signal.throwIfAborted();
    options.log.complain(thrown);
  }
}

/**
 * Fetches the newest copy if it is newer than the best checkpoint here. True when the folder must
 * be scanned again.
 */
export async function fetchNewer(
  store: OpenStore,
  best: { readonly attempt: number; readonly step: number } | null,
  options: RemoteRunOptions,
): Promise<boolean> {
  const { url } = options.ship.location;
  const isOptional = best !== null && wasLastMoveOurs(store.path, url);
  try {
    return await withRemote({ ...options, isOptional }, (remote, how) => bring(remote, { ...options, store, best, ...how }));
  } catch (thrown) {
    options.signal.throwIfAborted();
    // A rollback may have arrived and excluded the best checkpoint here.
    if (best === null || scan(store).sealed.length === 0) throw asUnusable(thrown);
    if (!isOptional && isRemoteTrouble(thrown)) throw resumesBlindly(options.ship, asUnusable(thrown), true);
    options.log.complain(thrown);
    return isLeftOut(best, readRollback(store));
  }
}

interface Bringing extends RemoteRunOptions {
  readonly store: OpenStore;
  readonly best: { readonly attempt: number; readonly step: number } | null;
  readonly stop: AbortController;
  readonly onProgress: (done: number) => void;
}

async function bring(remote: ObjectStore, { store, best, stop, onProgress, ship, clock, env, log, signal }: Bringing): Promise<boolean> {
  const { url } = ship.location;
  const isDecided = await hear(remote, store, log);
  const own = best !== null && !isLeftOut(best, readRollback(store)) ? best : null;
  const limit = shipLimit(ship, clock);
  let toldMs = clock.monotonic();
  const fetched = await fetchNewest({
    ...{ remote, stop, signal, folder: store.path, limit, parallel: PARALLEL, clock, env },
    isWanted: (copy) => copy.run === store.run && (own === null || isNewer(copy, own)),
    onFound: ({ manifest }) =>
      log.say(`${own === null ? 'nothing is here' : `step ${own.step} is here`}; fetching step ${manifest.step} from ${url}`),
    ...(own === null ? {} : { onNoneGood: (thrown: unknown) => log.complain(thrown) }),
    onSkip: ({ name, code, reason }) =>
      log.warn(`the copy ${name} at ${url} is not good and stays there; Holdfast tries an older one: ${reason} [${code}]`),
    onProgress({ done, total }) {
      onProgress(done);
      if (clock.monotonic() - toldMs < PROGRESS_MS) return;
      toldMs = clock.monotonic();
      log.say(`fetched ${formatBytes(done)} of ${formatBytes(total)}`);
    },
  });
  if (fetched === null || fetched.state === 'already') return isDecided;
  noteCopy(store, fetched, ship);
  const { step, bytes, durationMs } = fetched;
  log.record({ kind: 'fetched', step, url, bytes, totalMs: durationMs });
  log.say(`fetched step ${step} (${formatBytes(bytes)}) in ${formatDuration(durationMs)}`);
  return true;
}

/** Exchanges rollbacks; true when a new one arrived. */
async function hear(remote: ObjectStore, store: OpenStore, log: RunLog): Promise<boolean> {
  const decision = await exchangeRollback(remote, store);
  if (decision !== null) log.warn(decision);
  return decision !== null;
}

/** Records a fetched copy, because it need not be shipped again. */
function noteCopy(store: OpenStore, { name, copy, files, bytes }: Fetched, { location }: ShipSettings): void {
  const here = scan(store).sealed.find((one) => one.name === name);
  const shippedAt = new Date(store.clock.now()).toISOString();
  if (here !== undefined) recordShipped(store, here, { url: location.url, name: copy, shippedAt, files, bytes });
}

interface Reached {
  readonly stop: AbortController;
  /** Called with the total of received bytes. */
  readonly onProgress: (done: number) => void;
}

/** Uses the store as long as this start has patience. */
async function withRemote<T>(
  { ship, clock, env, signal, log, patience, open = openShipStore, isOptional }: RemoteRunOptions & { readonly isOptional: boolean },
  use: (remote: ObjectStore, reached: Reached) => Promise<T>,
): Promise<T> {
  // The start uploads nothing in parts, so it needs no upload memory.
  const memory = { get: () => null, set() {}, delete() {} };
  const onRetry = tellRetries(ship.location.url, (sentence) => log.say(sentence));
  const retries = isOptional ? { retries: SHORT_RETRIES } : {};
  return patience.ask({
    signal,
    isOptional,
    ask: async (patient, onProgress) => {
      const stop = new AbortController();
      const remote = open(ship, { clock, env, memory, signal: AbortSignal.any([patient, stop.signal]), onRetry, ...retries });
      try {
        return await use(remote, { stop, onProgress });
      } finally {
        await remote[Symbol.asyncDispose]();
      }
    },
  });
}

/**
 * Errors after which it is unknown whether there is a newer copy, in contrast to a copy that does
 * not fit here. The disks' own are among them, because a store may be a mounted folder.
 */
const REMOTE_TROUBLES: ReadonlySet<string> = new Set([
  'REMOTE_UNAVAILABLE',
  'REMOTE_ACCESS_DENIED',
  'REMOTE_CONFLICT',
  'REMOTE_INVALID',
  'BUCKET_NOT_FOUND',
  'CLOCK_SKEWED',
  'CREDENTIALS_MISSING',
  'CREDENTIALS_REFUSED',
  'STORE_FAILED',
  'STORE_NOT_WRITABLE',
]);

function isRemoteTrouble(thrown: unknown): boolean {
  return thrown instanceof HoldfastError && REMOTE_TROUBLES.has(thrown.code);
}

function isConflict(thrown: unknown): boolean {
  return thrown instanceof HoldfastError && (thrown.code === 'REMOTE_CONFLICT' || thrown.code === 'REMOTE_INVALID');
}

/** The stored objects are at fault, and a retry would end the same: `run` ends with 65. */
function asUnusable(thrown: unknown): unknown {
  if (!isBadCopy(thrown) || thrown.cause instanceof RequestFailure) return thrown;
  const { code, message, hint } = thrown;
  return new HoldfastError(code, {
    message: `the trainer was not started: ${message}`,
    ...(hint === undefined ? {} : { hint }),
    cause: thrown,
    exit: EXIT.unusable,
  });
}

/** Only a person may decide to resume from an older step. */
function resumesBlindly({ location }: ShipSettings, thrown: unknown, hasOwn: boolean): unknown {
  const why = hasOwn ? 'another node may have shipped newer checkpoints than the local ones' : 'nothing is sealed here';
  const without = hasOwn ? 'resumes from the local checkpoints and ignores newer copies' : 'starts from the beginning';
  return unreachable(thrown, `${why}, and it is unknown whether ${printable(location.url)} has a checkpoint`, without);
}

/** Refuses the start; `without` continues "Without --ship the run …". */
function unreachable(thrown: unknown, why: string, without: string): unknown {
  if (!(thrown instanceof HoldfastError)) return thrown;
  const { code, message, hint, exitCode } = thrown;
  return new HoldfastError(code, {
    message: `the trainer was not started: ${why}: ${message}`,
    hint: `${hint === undefined ? '' : `${hint} `}Without --ship the run ${without}.`,
    cause: thrown,
    // A mounted folder of copies that fails is a store that does not answer.
    exit: code.startsWith('STORE_') ? EXIT.unavailable : exitCode,
  });
}
