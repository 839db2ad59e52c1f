/** What is restarted when a pod is lost: the whole gang, or that replica first. */
export type RestartMode = 'gang' | 'replica';

/** The shape of a job, as far as it decides the mode. */
export interface JobShape {
  readonly isElastic: boolean;
  readonly hasDynamicWorkers: boolean;
  readonly hasParameterServers: boolean;
  /** The user's own choice; null: none. */
  readonly chosen: RestartMode | null;
}

/**
 * The mode of a job. Replicas that train in lockstep hang without each other, so they restart as
 * one gang. Elastic workers and parameter servers go on without a lost replica.
 */
export function restartModeOf({ isElastic, hasDynamicWorkers, hasParameterServers, chosen }: JobShape): RestartMode {
  if (chosen !== null) return chosen;
  return isElastic || hasDynamicWorkers || hasParameterServers ? 'replica' : 'gang';
}

/** The time without a step after which a job that restarts by replica restarts as a gang. */
const PATIENCE_WITHOUT_STEP_MS = 120_000;

/** The facts after which a lone replacement did not help. Times are milliseconds since 1970. */
export interface ReplacementFacts {
  readonly lostRendezvousHost: boolean;
  /** When the last replica was lost; null: none was. */
  readonly lostMs: number | null;
  /** When the last step was reported; null: no step ever was, so that none can be missed. */
  readonly lastStepMs: number | null;
  readonly nowMs: number;
}

/** When the whole gang restarts after all; null: never, as things are. */
export function gangRestartAtMs({ lostRendezvousHost, lostMs, lastStepMs, nowMs }: ReplacementFacts): number | null {
  if (lostRendezvousHost) return nowMs;
  if (lostMs === null || lastStepMs === null || lastStepMs > lostMs) return null;
  return lostMs + PATIENCE_WITHOUT_STEP_MS;
}
