import type { OpenStore } from '../../store/folder/store.ts';
import { maskArguments } from '../../core/secrets.ts';
import { newestAttempt } from '../../store/attempt/attempt.ts';
import { readLedger } from '../../ledger/reader.ts';
import { type Lane, lanesOf } from '../../ledger/timeline.ts';
import type { RunOptions } from '../settings/run-options.ts';
import type { Shipping } from '../shipping/shipping.ts';

type Settings = Pick<RunOptions, 'command' | 'env' | 'trainsAgain' | 'isWatched' | 'gang'>;

/** What it takes to look whether a run is finished. */
export interface FinishedOptions {
  readonly options: Settings;
  /** Null: no copies are kept elsewhere. */
  readonly shipping: Pick<Shipping, 'hearDecision'> | null;
  readonly signal: AbortSignal;
}

/** How much of each ledger file to read: its newest days tell how the run ended. */
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * The step at which the same command has already finished this run; null when there is something
 * left to train. Only a run whose trainer spoke through the SDK can be finished in this sense. A
 * later attempt (a rollback makes one), a last save that was lost, or a node that never recorded
 * its end opens the run again.
 */
export async function finishedStep(store: OpenStore, { options, shipping, signal }: FinishedOptions): Promise<number | null> {
  const here = finishedHere(store, options);
  if (here === null || shipping === null) return here;
  // A rollback on another node comes with the copies, and opens the run again.
  await shipping.hearDecision(store, signal);
  return finishedHere(store, options);
}

function finishedHere(store: OpenStore, { command, env, trainsAgain, isWatched, gang }: Settings): number | null {
  if (trainsAgain || isWatched) return null;
  const lane = lastLane(store);
  if (lane?.end?.end !== 'finished' || lane.attempt !== newestAttempt(store)?.attempt) return null;
  const isOfSdk = lane.events.some(({ event }) => event.kind === 'sdk-attached');
  const isSame = JSON.stringify(lane.command) === JSON.stringify(maskArguments(command, env));
  const isComplete = (lane.end.lostSteps ?? 0) === 0;
  return isOfSdk && isSame && isComplete && haveAllEnded(lane, gang) ? lane.end.step : null;
}

function haveAllEnded({ events, nodes }: Lane, gang: Settings['gang']): boolean {
  const ended = new Set(events.flatMap(({ node, event }) => (event.kind === 'attempt-ended' ? [node] : [])));
  return ended.size >= Math.max(nodes.length, gang?.nodes ?? 1);
}

function lastLane(store: OpenStore): Lane | null {
  try {
    return lanesOf(readLedger(store.path, MOST_BYTES).events).at(-1) ?? null;
  } catch {
    // An unreadable ledger proves nothing, and training must not wait for it.
    return null;
  }
}
