import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import type { Recorded } from '../../ledger/events.ts';
import type { LedgerReader } from '../../ledger/reader.ts';

export interface FollowOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Told what was added, in order; true ends the following. */
  readonly onEvents: (events: readonly Recorded[]) => boolean;
}

/** How often it is looked where the system does not tell of changes: a network volume that another node writes to. */
const LOOK_EVERY_MS = 2000;

/** Tells what is added to a ledger until the signal says stop or `onEvents` does. It sleeps until the system tells of a change. */
export async function followLedger(reader: LedgerReader, { clock, signal, onEvents }: FollowOptions): Promise<void> {
  for (;;) {
    const changed = watchFor(reader.folder, clock, signal);
    try {
      // After the watch began, so that nothing falls between.
      const { events } = reader.readMore();
      if (events.length > 0 && onEvents(events)) return;
      if (events.length === 0) await changed.wait();
    } finally {
      changed.close();
    }
    signal.throwIfAborted();
  }
}

interface Change {
  wait(): Promise<void>;
  close(): void;
}

function watchFor(folder: string, clock: Clock, signal: AbortSignal): Change {
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  let watcher: FSWatcher | null = null;
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const place of [folder, dirname(folder)]) {
    try {
      watcher = watch(place, { persistent: false }, () => resolve());
      watcher.on('error', () => {});
      break;
    } catch {
      // The folder is not there yet, or the system has no watches left: the clock does for both.
    }
  }
  return {
    async wait() {
      await Promise.race([promise, clock.sleep(LOOK_EVERY_MS, { signal: stop })]);
    },
    close() {
      watcher?.close();
      over.abort(new Error('seen'));
    },
  };
}
