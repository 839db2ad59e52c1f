import type { NodeKind } from '../../../domain/grace/effective-grace.ts';
import type { Cause } from '../../../domain/grace/notice.ts';
import type { Answer } from './answer.ts';
import type { Question } from './metadata-client.ts';

/** An event that a service announces, as of now. */
export interface Told {
  readonly cause: Cause;
  /** Milliseconds since 1970; null when the service gives no time. */
  readonly deadlineMs: number | null;
  /** The service's own words, for people. */
  readonly detail: string;
}

/** The result of one look at a channel. */
export interface Look {
  /** At most one event per cause. An event that is missing since the last look was withdrawn. */
  readonly told: readonly Told[];
  /**
   * The service holds its next answer back until something changes, so the supervisor can ask at
   * once.
   */
  readonly isHeldBack: boolean;
}

/** One value that the supervisor asks for again and again. */
export type Channel = (signal: AbortSignal) => Promise<Look>;

/** Asks the service one question. */
export type Ask = (question: Question, signal: AbortSignal) => Promise<Answer>;

/**
 * A metadata service behind an address. Every method throws a MetadataTrouble when the service does
 * not answer, or answers nonsense.
 */
export interface MetadataService {
  /** Resolves when the peer is certainly this service. */
  recognise(signal: AbortSignal): Promise<void>;
  /** The kind of this machine, if the kind shortens the grace. */
  nodeKind(signal: AbortSignal): Promise<NodeKind | null>;
  readonly channels: readonly Channel[];
}

/**
 * How far an end may lie from now. Clocks are often a little wrong, but an end long past, or far in
 * the future, is invalid.
 */
const MOST_PAST_MS = 60_000;
const MOST_AHEAD_MS = 366 * 24 * 3600_000;

/** The instant that a service named; null when it named none, or an impossible one. */
export function instantOf(text: unknown, nowMs: number): number | null {
  const ms = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return ms > nowMs - MOST_PAST_MS && ms < nowMs + MOST_AHEAD_MS ? ms : null;
}
