import { parentPort, workerData } from 'node:worker_threads';
import { openJournal } from '../../checkpoint/ship/journal.ts';
import { shipCheckpoint } from '../../checkpoint/ship/ship.ts';
import { readShipped } from '../../checkpoint/ship/shipped.ts';
import { bytesOf } from '../../checkpoint/store/prune.ts';
import { scan, type SealedCheckpoint } from '../../checkpoint/store/scan.ts';
import { openRun, type OpenStore, readRun, type Store } from '../../checkpoint/store/store.ts';
import { realClock } from '../../core/clock.ts';
import { HoldfastError, toError } from '../../core/errors.ts';
import { createRng, randomSeed } from '../../core/rng.ts';
import { holdWhileSent, releaseHeld } from './hold.ts';
import type { FromShip, ShipWork, ToShip } from './messages.ts';
import { openShipStore, PARALLEL, shipLimit } from './settings.ts';

/** After a failure, which has been tried again for about a minute itself. */
const FIRST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** Progress is told this often at most. */
const PROGRESS_MS = 200;

const { dir, ship, env } = workerData as ShipWork;
const clock = realClock;
const rng = createRng(randomSeed());
const limit = shipLimit(ship, clock);
const say = (message: FromShip): void => parentPort?.postMessage(message);

let wake = new AbortController();
/** What is being sent, and whether it shall be given up; its failing aborts the same signal. */
let sending: { readonly stop: AbortController; isUnwanted: boolean } | null = null;
/** Aborted when there is no more to ship. */
const over = new AbortController();
let heard = 0;
/** Saves that are there, for a folder in which that cannot be noted. */
const sent = new Set<string>();

parentPort?.on('message', ({ type, id }: ToShip) => {
  heard = id;
  wake.abort();
  if (type === 'look') return;
  if (type === 'stop') over.abort();
  if (sending === null) return;
  sending.isUnwanted = true;
  sending.stop.abort(new HoldfastError('TERMINATED', { message: 'it is not wanted any more' }));
});

/** Sends the newest sealed checkpoint, one at a time; what was sealed meanwhile is looked for afterwards. */
async function shipOn(): Promise<void> {
  releaseHeld(openRun(dir, { clock }));
  let failures = 0;
  while (!over.signal.aborted) {
    // Whatever is told from here on makes the pause below end at once.
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

async function sendNewest(id: number): Promise<'sent' | 'failed' | 'nothing'> {
  let step: number | null = null;
  try {
    const store = openRun(dir, { clock });
    const [newest] = scan(store).sealed;
    if (newest === undefined || isThere(store, newest)) return 'nothing';
    ({ step } = newest.manifest);
    say({ type: 'begun', step, bytes: bytesOf(newest) });
    await send(store, newest);
    return 'sent';
  } catch (thrown) {
    if (sending?.isUnwanted === true || wasRotated(thrown, step)) return 'sent';
    const error = toError(thrown);
    say({ type: 'failed', step, code: error instanceof HoldfastError ? error.code : 'INTERNAL', message: error.message, id });
    return 'failed';
  } finally {
    sending = null;
  }
}

function isThere(store: Store, { name, manifest }: SealedCheckpoint): boolean {
  return sent.has(manifest.save) || readShipped(store, name, manifest.save).some(({ url }) => url === ship.location.url);
}

/** The framework, or retention, has deleted it while it was sent, which is nobody's failure: the next one is sent instead. */
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
    const { save, step, bytes, sentBytes, durationMs } = shipped;
    sent.add(save);
    say({ type: 'shipped', step, bytes, sentBytes, totalMs: durationMs });
  } finally {
    letGo();
    await remote[Symbol.asyncDispose]();
  }
}

void shipOn();
