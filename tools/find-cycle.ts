/** A shortest cycle in a graph, as the list of its nodes; empty when there is none. */
export function findCycle(edges: readonly { readonly from: string; readonly to: string }[]): readonly string[] {
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to]);
  let shortest: readonly string[] = [];
  for (const start of next.keys()) {
    const found = backTo(start, next);
    if (found.length > 0 && (shortest.length === 0 || found.length < shortest.length)) shortest = found;
  }
  return shortest;
}

/** The shortest path from a node back to itself, breadth first. */
function backTo(start: string, next: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const ways: string[][] = [[start]];
  const seen = new Set<string>();
  for (const way of ways) {
    for (const node of next.get(way.at(-1) ?? '') ?? []) {
      if (node === start) return way;
      if (seen.has(node)) continue;
      seen.add(node);
      ways.push([...way, node]);
    }
  }
  return [];
}
