import { END_CAUSES, type EndCause } from '../causes/catalogue.ts';

/** Where and why an attempt ended. Times are milliseconds since 1970. */
export interface PlaceOfEnd {
  readonly cause: EndCause;
  readonly node: string | null;
  readonly zone: string | null;
  readonly endedMs: number;
}

/** Where the next pods should rather not go. */
export interface Avoided {
  readonly nodes: readonly string[];
  readonly zones: readonly string[];
}

/** Nothing is avoided. */
export const AVOID_NOTHING: Avoided = { nodes: [], zones: [] };

const MEMORY_MS = 60 * 60_000;
const LOSSES_OF_A_BAD_NODE = 2;
/** The cloud took the machine, and probably takes more of the same zone. */
const RECLAIMS: ReadonlySet<EndCause> = new Set(['SPOT_RECLAIM', 'MACHINE_SHUTDOWN', 'NODE_DELETED']);
/** One is enough: the node itself is reported broken. */
const FAULTS: ReadonlySet<EndCause> = new Set(['NODE_FAULTY']);

/**
 * The nodes that lost two attempts within an hour, or were reported faulty, and the zone that just
 * reclaimed a machine. Ends by a limit of the manifest say nothing about a node.
 */
export function avoidedPlaces(ends: readonly PlaceOfEnd[], nowMs: number): Avoided {
  const recent = ends.filter(({ endedMs }) => nowMs - endedMs < MEMORY_MS);
  const nodes = new Map<string, number>();
  for (const { node, cause } of recent) {
    if (node === null || END_CAUSES[cause].family === 'limit') continue;
    nodes.set(node, (nodes.get(node) ?? 0) + (FAULTS.has(cause) ? LOSSES_OF_A_BAD_NODE : 1));
  }
  const last = recent.at(-1);
  const isReclaimed = last !== undefined && last.zone !== null && RECLAIMS.has(last.cause);
  return {
    nodes: [...nodes].filter(([, losses]) => losses >= LOSSES_OF_A_BAD_NODE).map(([node]) => node),
    zones: isReclaimed && last.zone !== null ? [last.zone] : [],
  };
}
