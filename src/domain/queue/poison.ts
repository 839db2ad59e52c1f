/** The place of an unexplained death of a worker that held one item alone. */
export interface UnexplainedDeath {
  readonly node: string;
  /** The worker’s process; a restart on the same node is another process. */
  readonly process: string;
}

/** When a queue sets an item aside. */
export interface PoisonRule {
  /** The number of unexplained deaths that sets an item aside. */
  readonly deaths: number;
  /** The nodes that run workers of the queue now. */
  readonly nodes: number;
}

/** Deaths on this many nodes are not the fault of one node. */
const NODES = 2;

/**
 * Whether to set an item aside. One bad node must not condemn good items, so the deaths must be on
 * two nodes. If the queue has only one node, every death must be in another process.
 */
export function isPoison(deaths: readonly UnexplainedDeath[], { deaths: needed, nodes }: PoisonRule): boolean {
  if (deaths.length < needed) return false;
  if (new Set(deaths.map(({ node }) => node)).size >= NODES) return true;
  return nodes < NODES && new Set(deaths.map(({ node, process }) => `${node}\n${process}`)).size >= needed;
}

/** The known facts about a lease that its worker did not end itself. */
export interface LeaseLoss {
  /** The number of items leased together with this one. */
  readonly together: number;
  /** The notice, pod condition or node loss that explains it; null: unexplained. */
  readonly explanation: string | null;
}

/**
 * Whether a lost lease counts against its item: only if the item was alone and nothing else
 * explains the loss.
 */
export function countsAsDeath({ together, explanation }: LeaseLoss): boolean {
  return together === 1 && explanation === null;
}
