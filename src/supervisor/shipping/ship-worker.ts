import { parentPort, workerData } from 'node:worker_threads';
import { openJournal } from '../../remote/copy/journal.ts';
import { shipCheckpoint } from '../../remote/copy/ship.ts';
import { readShipped } from '../../remote/copy/shipped.ts';
import { bytesOf } from '../../store/retention/prune.ts';
import { scan, type SealedCheckpoint } from '../../store/folder/scan.ts';
import { openRun, type OpenStore, readRun, type Store } from '../../store/folder/store.ts';
import { realClock } from '../../core/clock.ts';
import { HoldfastError, toError } from '../../core/errors.ts';
import { createRng, randomSeed } from '../../core/rng.ts';
import { holdWhileSent, releaseHeld } from './hold.ts';
import type { FromShip, ShipWork, ToShip } from './ship-messages.ts';
import { openShipStore, PARALLEL, shipLimit } from '../settings/ship-settings.ts';

/** The pause after a failure, which follows about a minute of retries. */
const FIRST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** The shortest time between two progress messages. */
const PROGRESS_MS = 200;

const { dir, ship, env } = workerData as ShipWork;
const clock = realClock;
const rng = createRng(randomSeed());
const limit = shipLimit(ship, clock);
const say = (message: FromShip): void => parentPort?.postMessage(message);

let wake = new AbortController();
/** The current upload, and whether to drop it. Its own failure aborts the same signal. */
let sending: { readonly stop: AbortController; isUnwanted: boolean } | null = null;
/** Aborted when there is no more to ship. */
const over = new AbortController();
let heard = 0;
/** The saves already shipped, for a folder that cannot record them. */
const sent = new Set<string>();

parentPort?.on('message', ({ type, id }: ToShip) => {
  if (type === 'missing') return answerMissing(id);
  heard = id;
  wake.abort();
  if (type === 'look') return;
  if (type === 'stop') over.abort();
  if (sending === null) return;
  sending.isUnwanted = true;
  sending.stop.abort(new HoldfastError('TERMINATED', { message: 'it is no longer needed' }));
});

/** Ships the newest sealed checkpoint, one at a time, then looks for one sealed meanwhile. */
async function shipOn(): Promise<void> {
  releaseHeld(openRun(dir, { clock }));
  let failures = 0;
  while (!over.signal.aborted) {
    // Any later message ends the pause below at once.
    wake = new AbortController();
    const id = heard;
    const outcome = await sendNewest(id);
    if (outcome === 'sent') failures = 0;
    else if (outcome === 'failed') failures++;
    if (outcome === 'nothing') say({ type: 'idle', id });
    if (outcome !== 'sent' && !over.signal.aborted) await pause(outcome === 'failed' ? pauseMs(failures) : LONGEST_PAUSE_MS);
  }
  parentPort?.close();
}

function pauseMs(failures: number): number {
  const most = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1));
  return most / 2 + (rng.next() * most) / 2;
}

async function pause(ms: number): Promise<void> {
  await clock.sleep(ms, { signal: wake.signal }).catch(() => {});
}

/** Answers also while an upload is under way. */
function answerMissing(id: number): void {
  try {
    const newest = newestMissing(openRun(dir, { clock }));
    say({ type: 'missing', newest: newest === null ? null : { step: newest.manifest.step, bytes: bytesOf(newest) }, id });
  } catch (thrown) {
    sayFailed(null, thrown, id);
  }
}

async function sendNewest(id: number): Promise<'sent' | 'failed' | 'nothing'> {
  let step: number | null = null;
  try {
    const store = openRun(dir, { clock });
    const newest = newestMissing(store);
    if (newest === null) return 'nothing';
    ({ step } = newest.manifest);
    say({ type: 'begun', step, bytes: bytesOf(newest) });
    await send(store, newest);
    return 'sent';
  } catch (thrown) {
    if (sending?.isUnwanted === true || wasRotated(thrown, step)) return 'sent';
    sayFailed(step, thrown, id);
    return 'failed';
  } finally {
    sending = null;
  }
}

function sayFailed(step: number | null, thrown: unknown, id: number): void {
  const error = toError(thrown);
  say({ type: 'failed', step, code: error instanceof HoldfastError ? error.code : 'INTERNAL', message: error.message, id });
}

/** The newest checkpoint, unless it is shipped. */
function newestMissing(store: Store): SealedCheckpoint | null {
  const [newest] = scan(store).sealed;
  if (newest === undefined || sent.has(newest.manifest.save)) return null;
  const isThere = readShipped(store, newest.name, newest.manifest.save).some(({ url }) => url === ship.location.url);
  return isThere ? null : newest;
}

/**
 * Whether the framework or retention deleted the checkpoint during its upload. This is no failure:
 * the worker sends the next one.
 */
function wasRotated(thrown: unknown, step: number | null): boolean {
  if (!(thrown instanceof HoldfastError) || thrown.code !== 'SOURCE_CHANGED') return false;
  try {
    const [newest] = scan(readRun(dir, { clock })).sealed;
    return newest?.manifest.step !== step;
  } catch {
    return false;
  }
}

async function send(store: OpenStore, checkpoint: SealedCheckpoint): Promise<void> {
  const stop = new AbortController();
  sending = { stop, isUnwanted: false };
  const journal = openJournal(dir, ship.location.url);
  const remote = openShipStore(ship, { clock, env, memory: journal, signal: stop.signal });
  const letGo = holdWhileSent(store, checkpoint);
  let toldMs = 0;
  try {
    const shipped = await shipCheckpoint(checkpoint, {
      ...{ store, remote, stop, journal, limit, clock, parallel: PARALLEL },
      onProgress({ done }) {
        if (clock.monotonic() - toldMs < PROGRESS_MS) return;
        toldMs = clock.monotonic();
        say({ type: 'progress', done });
      },
    });
    const { save, step, bytes, sentBytes, durationMs, pointer } = shipped;
    sent.add(save);
    say({ type: 'shipped', step, bytes, sentBytes, totalMs: durationMs, isPointed: pointer.moved });
  } finally {
    letGo();
    await remote[Symbol.asyncDispose]();
  }
}

void shipOn();
