/**
 * Names in which frameworks put the rank that wrote the file: `__3_0.distcp`, `rng_state_3.pth`,
 * `rank-3.json`, `…_rank_03_model_states.pt`.
 */
const WRITER = /(?:^|\/)(?:__|rng[-_]?(?:state[-_])?|(?:[^/]*[^a-z])?rank[-_]?)(?<rank>\d{1,7})(?:_\d+)?\b/i;

/**
 * The rank whose receipt lists a file. It should be a rank on the node that wrote the file, where
 * the bytes are still in memory. Every node must compute the same answer, so that exactly one rank
 * vouches for each file.
 */
export function vouchingRank(path: string, worldSize: number): number {
  const rank = Number(WRITER.exec(path)?.groups?.['rank'] ?? 0);
  return rank < worldSize ? rank : 0;
}
