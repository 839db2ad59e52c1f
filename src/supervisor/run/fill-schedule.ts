import { HoldfastError } from '../../core/errors.ts';
import { fillPlaceholders } from '../../domain/sweep/placeholders.ts';
import { SCHEDULED_PLACEHOLDER, SCHEDULED_VARIABLE, scheduledText } from '../../domain/sweep/scheduled.ts';
import { readLedger } from '../../ledger/reader.ts';
import { lanesOf } from '../../ledger/timeline.ts';
import type { RunOptions } from '../settings/run-options.ts';

/** How much of each ledger file to read: its newest days hold the newest attempt. */
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * Fills the time a run was scheduled for into the trainer's arguments and variables. The first
 * attempt fixes it: a run that a later Job resumes keeps the time of the Job that started it. After
 * a finished run, the next one has a time of its own.
 */
export function fillSchedule(options: RunOptions, folder: string): RunOptions {
  const isAsked = options.command.some((word) => word.includes(SCHEDULED_PLACEHOLDER));
  if (!isAsked && options.scheduledAtMs === null) return options;
  const atMs = fixedTime(folder, options.scheduledAtMs) ?? options.scheduledAtMs;
  if (atMs === null) {
    throw new HoldfastError('USAGE', {
      message: `the trainer’s arguments have ${SCHEDULED_PLACEHOLDER}, but the time that the run was scheduled for is unknown here`,
      hint: `A CronJob’s pods know it by their name. Elsewhere set ${SCHEDULED_VARIABLE}=2026-01-31T02:00:00Z.`,
    });
  }
  const scheduled = scheduledText(atMs);
  return {
    ...options,
    scheduledAtMs: atMs,
    command: options.command.map((word) => fillPlaceholders(word, new Map([['scheduled', scheduled]]))),
    env: { ...options.env, [SCHEDULED_VARIABLE]: scheduled },
  };
}

/** The time of the newest attempt, if its run is the one that starts now. */
function fixedTime(folder: string, nextMs: number | null): number | null {
  try {
    const lane = lanesOf(readLedger(folder, MOST_BYTES).events).at(-1);
    const fixed = lane?.events.flatMap(({ event }) => (event.kind === 'scheduled' ? [event.scheduledMs] : [])).at(-1) ?? null;
    const isNext = lane?.end?.end === 'finished' && nextMs !== null;
    return isNext ? null : fixed;
  } catch {
    // An unreadable ledger proves nothing, and training must not wait for it.
    return null;
  }
}
