import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../../../core/clock.ts';
import type { Recorded } from '../../../ledger/events.ts';
import type { LedgerReader } from '../../../ledger/reader.ts';

/** How to follow a ledger. */
export interface FollowOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called with the added events, in order; returns true to stop. */
  readonly onEvents: (events: readonly Recorded[]) => boolean;
  /** True when the reader of the output has gone; this stops the following. */
  readonly isUnread: () => boolean;
}

/**
 * How often to look when the system sends no events about changes, as on a network volume that
 * another node writes to.
 */
const LOOK_EVERY_MS = 2000;

/**
 * Passes on what is added to a ledger, until the signal is aborted or `onEvents` returns true. It
 * sleeps until the system reports a change.
 */
export async function followLedger(reader: LedgerReader, { clock, signal, onEvents, isUnread }: FollowOptions): Promise<void> {
  for (;;) {
    const changed = watchFor(reader.folder, clock, signal);
    try {
      // Reads after the watch began, so that no change is missed.
      const { events } = reader.readMore();
      if (events.length > 0 && onEvents(events)) return;
      if (events.length === 0) await changed.wait();
    } finally {
      changed.close();
    }
    signal.throwIfAborted();
    if (isUnread()) return;
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
      // The folder does not exist yet, or the system has no watches left; the clock serves for
      // both.
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
