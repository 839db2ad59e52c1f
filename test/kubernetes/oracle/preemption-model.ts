import { filteredBeside, priorityOf } from './filter-model.ts';
import type { BudgetCase, ClusterCase, NodeCase, PodCase } from './scheduling.ts';

/** Those who would have to go from a node, the most important first, and how many budgets' wishes that would break. */
export interface Candidate {
  readonly victims: readonly PodCase[];
  readonly violations: number;
}

/** What we believe it would cost on each node where a preemption would help. */
export function candidates(cluster: ClusterCase): ReadonlyMap<string, Candidate> {
  const found = new Map<string, Candidate>();
  for (const node of cluster.nodes) {
    if (filteredBeside(cluster.pod, node, cluster).code !== 'Unschedulable') continue;
    const candidate = victimsOn(node, cluster);
    if (candidate !== null) found.set(node.name, candidate);
  }
  return found;
}

/** The nodes that may be chosen among them; those that are left in the end are equally good. */
export function bestOf(found: ReadonlyMap<string, Candidate>): readonly string[] {
  let left = [...found];
  for (const measure of MEASURES) {
    const least = Math.min(...left.map(([, candidate]) => measure(candidate)));
    left = left.filter(([, candidate]) => measure(candidate) === least);
  }
  return left.map(([name]) => name);
}

/** Who loses the promise of a node that is now promised to somebody more important. */
export function unpromisedOn(node: string, { pod, nominated }: ClusterCase): string[] {
  return nominated.filter((each) => each.node === node && priorityOf(each) < priorityOf(pod)).map(({ name }) => name);
}

/** The smaller is the better, one after the other. */
const MEASURES: readonly ((candidate: Candidate) => number)[] = [
  ({ violations }) => violations,
  ({ victims }) => priorityOf(victims[0]),
  ({ victims }) => victims.reduce((sum, pod) => sum + priorityOf(pod) + 2 ** 31, 0),
  ({ victims }) => victims.length,
  ({ victims }) => {
    const highest = Math.max(...victims.map(priorityOf));
    return -Math.min(...victims.filter((pod) => priorityOf(pod) === highest).map(({ startedAt }) => startedAt));
  },
];

const [NOBODY, NO_HELP] = ['No preemption victims found for incoming pod', 'Preemption is not helpful for scheduling'] as const;
/** What preemption says of nodes by itself; of others it says again what the filters do, even with all gone who could go. */
export const SAID_OF_NODES = [NOBODY, NO_HELP] as const;

/** What we believe is said where nobody goes, and `best` is empty: why this pod takes no node, or how many have nobody who is less important, and how many nobody's going would help. */
export function whyNone(cluster: ClusterCase, best: readonly string[]): string {
  const { pod, nodes } = cluster;
  if (best.length > 0) return '';
  if (pod.isNeverPreempting) return 'preemption: not eligible due to preemptionPolicy=Never.';
  const resolvable = nodes.filter((node) => filteredBeside(pod, node, cluster).code === 'Unschedulable');
  const counts = [
    [resolvable.filter((node) => lessImportantOn(node, cluster).length === 0).length, NOBODY],
    [nodes.length - resolvable.length, NO_HELP],
  ] as const;
  const told = counts.filter(([count]) => count > 0).map((each) => each.join(' '));
  return `preemption: 0/${nodes.length} nodes are available: ${told.sort().join(', ')}`;
}

/** Those who could have to go from a node, the most important first. */
function lessImportantOn(node: NodeCase, { pod, pods }: ClusterCase): PodCase[] {
  return pods.filter((each) => each.node === node.name && priorityOf(each) < priorityOf(pod)).sort(byImportance);
}

function victimsOn(node: NodeCase, cluster: ClusterCase): Candidate | null {
  const { pod, pods, budgets } = cluster;
  const lower = lessImportantOn(node, cluster);
  const staying = pods.filter((each) => !lower.includes(each));
  const fits = (some: readonly PodCase[]): boolean => filteredBeside(pod, node, cluster, some).code === 'Success';
  if (lower.length === 0 || !fits(staying)) return null;
  const isViolating = violating(lower, budgets);
  const victims: PodCase[] = [];
  // Whoever may stay stays: first those that a budget protects.
  for (const each of [...lower.filter((one) => isViolating.has(one)), ...lower.filter((one) => !isViolating.has(one))]) {
    (fits([...staying, each]) ? staying : victims).push(each);
  }
  return { victims: victims.sort(byImportance), violations: victims.filter((each) => isViolating.has(each)).length };
}

function byImportance(first: PodCase, second: PodCase): number {
  return priorityOf(second) - priorityOf(first) || (first.startedAt < second.startedAt ? -1 : 1);
}

/** Every budget that a pod falls under pays for it, also when another is already overdrawn. */
function violating(pods: readonly PodCase[], budgets: readonly BudgetCase[]): ReadonlySet<PodCase> {
  const left = new Map(budgets.map((budget) => [budget, budget.allowed]));
  const found = new Set<PodCase>();
  for (const pod of pods) {
    for (const budget of budgets.filter(({ app, disrupted }) => app === pod.app && !disrupted.includes(pod.name))) {
      const rest = (left.get(budget) ?? 0) - 1;
      left.set(budget, rest);
      if (rest < 0) found.add(pod);
    }
  }
  return found;
}
