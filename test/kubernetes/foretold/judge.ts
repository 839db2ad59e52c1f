/** What `whatif apply --json` says, as far as a real cluster can show it. */
export interface Foretold {
  readonly pods: readonly {
    readonly pod: string;
    readonly node: string | null;
    readonly evicts: boolean;
    readonly tied: readonly string[];
    readonly message: string | null;
  }[];
  readonly evicted: readonly { readonly pod: string; readonly graceSeconds: number }[];
  readonly possible: readonly { readonly pod: string; readonly node: string; readonly victims: readonly string[] }[];
}

/** What a real cluster did with the same manifests. */
export interface Seen {
  readonly pods: readonly { readonly node: string | null; readonly message: string | null }[];
  /**
   * Evicted for these pods. Others may be evicted for pods that a controller creates anew: they are
   * left out.
   */
  readonly victims: readonly { readonly pod: string; readonly graceSeconds: number | null }[];
}

/**
 * `exact`: the answer came true. `one of several`: the answer listed several sets of victims or
 * several nodes, and one of them came true.
 */
export interface Verdict {
  readonly kind: 'exact' | 'one of several' | 'wrong';
  readonly faults: readonly string[];
}

/** Compares an answer with what happened. */
export function judge(foretold: Foretold, seen: Seen): Verdict {
  const { pods, evicted, possible } = foretold;
  const isTied = pods.some(({ tied }) => tied.length > 1) || possible.length > 0;
  const victims = sorted(seen.victims.map(({ pod }) => pod));
  const nodes = nodesText(seen.pods.map(({ node }) => node));
  const isExact = same(victims, sorted(evicted.map(({ pod }) => pod))) && nodes === nodesText(pods.map(({ node }) => node));
  const faults = [...graceFaults(evicted, seen), ...messageFaults(pods, seen, isTied)];
  if (!isExact && !(isTied && isAmongSets(foretold, seen, victims)))
    faults.push(`foretold ${setText(foretold)}; seen ${victims.join(' ') || 'no eviction'} and ${nodes}`);
  if (faults.length > 0) return { kind: 'wrong', faults };
  return { kind: isExact ? 'exact' : 'one of several', faults };
}

/** With several pods each set stands for one of them; the victims must lie in the sets together. */
function isAmongSets({ pods, evicted, possible }: Foretold, seen: Seen, victims: readonly string[]): boolean {
  if (pods.length > 1) {
    const named = new Set([...evicted.map(({ pod }) => pod), ...possible.flatMap((each) => each.victims)]);
    return victims.every((pod) => named.has(pod));
  }
  const [node] = seen.pods.map((pod) => pod.node);
  if (possible.length > 0) return possible.some((set) => set.node === node && same(victims, sorted(set.victims)));
  return victims.length === evicted.length && pods.every(({ tied }) => node !== null && node !== undefined && tied.includes(node));
}

function graceFaults(evicted: Foretold['evicted'], { victims }: Seen): string[] {
  return victims.flatMap(({ pod, graceSeconds }) => {
    const told = evicted.find((each) => each.pod === pod)?.graceSeconds ?? null;
    return told === null || graceSeconds === null || told === graceSeconds ? [] : [`${pod} has ${graceSeconds} s of grace, not ${told}`];
  });
}

/** The scheduler's first words about each pod that no node took at once. */
function messageFaults(pods: Foretold['pods'], seen: Seen, isTied: boolean): string[] {
  const [told, said] = [pods, seen.pods].map((each) => sorted(each.flatMap(({ message }) => message ?? [])));
  // After a tie the pods behind the first meet another cluster.
  if (same(told ?? [], said ?? []) || (isTied && pods.length > 1)) return [];
  return [`foretold ${JSON.stringify(told)}; the scheduler said ${JSON.stringify(said)}`];
}

function setText({ pods, evicted, possible }: Foretold): string {
  const sets = possible.map(({ node, victims }) => `${node}: ${victims.join(' ')}`);
  const nodes = nodesText(pods.map(({ node }) => node));
  return `${evicted.map(({ pod }) => pod).join(' ') || 'no eviction'} and ${nodes}${sets.length === 0 ? '' : ` (or ${sets.join('; ')})`}`;
}

function nodesText(nodes: readonly (string | null)[]): string {
  return sorted(nodes.map((node) => node ?? 'nowhere')).join(' ');
}

function sorted(names: readonly string[]): readonly string[] {
  return names.toSorted();
}

function same(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, index) => name === other[index]);
}
