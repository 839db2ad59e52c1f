import type { NodeKind } from '../../domain/effective-grace.ts';
import type { Cause } from '../../domain/notice.ts';
import type { Answer } from './answer.ts';
import type { Question } from './client.ts';

/** What a service says is coming, as of now. */
export interface Told {
  readonly cause: Cause;
  /** Milliseconds since 1970; null when it does not say. */
  readonly deadlineMs: number | null;
  /** In its own words, for people. */
  readonly detail: string;
}

export interface Look {
  /** At most one of a cause. What was told before and is not any more was withdrawn. */
  readonly told: readonly Told[];
  /** The service holds its next answer back until something changes: it can be asked at once. */
  readonly isHeldBack: boolean;
}

/** One thing that is looked at again and again. */
export type Channel = (signal: AbortSignal) => Promise<Look>;

export type Ask = (question: Question, signal: AbortSignal) => Promise<Answer>;

/** A metadata service behind an address. Every method throws a MetadataTrouble when it cannot be heard or understood. */
export interface MetadataService {
  /** Resolves when what answers is surely this service. */
  recognise(signal: AbortSignal): Promise<void>;
  /** What kind of machine this is, where that shortens a grace. */
  nodeKind(signal: AbortSignal): Promise<NodeKind | null>;
  readonly channels: readonly Channel[];
}

/** A clock that is a little wrong is usual; an end that has long passed, or lies beyond this, is not one. */
const MOST_PAST_MS = 60_000;
const MOST_AHEAD_MS = 366 * 24 * 3600_000;

/** The instant that a service named; null when it named none, or one that cannot be true. */
export function instantOf(text: unknown, nowMs: number): number | null {
  const ms = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return ms > nowMs - MOST_PAST_MS && ms < nowMs + MOST_AHEAD_MS ? ms : null;
}
