/** Names in which frameworks put the rank that wrote the file: `__3_0.distcp`, `rng_state_3.pth`, `rank-3.json`, `…_rank_03_model_states.pt`. */
const WRITER = /(?:^|\/)(?:__|rng[-_]?(?:state[-_])?|(?:[^/]*[^a-z])?rank[-_]?)(?<rank>\d{1,7})(?:_\d+)?\b/i;

/**
 * The rank in whose receipt a file stands. It should be one on the node that wrote it, where its bytes are still in memory; all that must hold
 * is that every node comes to the same answer, so that each file is vouched for once.
 */
export function vouchingRank(path: string, worldSize: number): number {
  const rank = Number(WRITER.exec(path)?.groups?.['rank'] ?? 0);
  return rank < worldSize ? rank : 0;
}
