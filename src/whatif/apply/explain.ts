import type { Candidate } from '../../scheduler/preempt/victims.ts';
import { formatBytes } from '../../core/bytes.ts';
import type { Refusal } from '../../scheduler/filter/verdict.ts';
import type { ApplyAnswer } from './answer.ts';

/** The scheduler’s steps for one pod. */
export interface Explanation {
  readonly pod: string;
  readonly priority: number;
  readonly requests: readonly string[];
  /**
   * Each reason of the filters, the nodes that gave it, and whether an eviction could change it.
   */
  readonly refusals: readonly {
    readonly plugin: string;
    readonly reason: string;
    readonly isResolvable: boolean;
    readonly nodes: readonly string[];
  }[];
  readonly passed: number;
  readonly tied: readonly string[];
  /** Every node where an eviction would make room, the best first; empty if it found room. */
  readonly candidates: readonly Candidate[];
  /** Equally good by all rules. */
  readonly best: readonly string[];
  readonly node: string | null;
  readonly message: string | null;
}

/** Walks through the steps for the pod of this name; null if the manifest makes no such pod. */
export function explainPod({ play, pods }: ApplyAnswer, name: string): Explanation | null {
  const step = play.steps.find(({ placement: { pod } }) => pod.name === name || pod.key === name);
  if (step === undefined) return null;
  const { placement, preemption, message } = step;
  const best = preemption?.best.map(({ node }) => node) ?? [];
  const names = play.after.nodes.map(({ node }) => node.name);
  return {
    pod: placement.pod.key,
    priority: placement.pod.priority,
    requests: [...placement.pod.requests.all].filter(([, amount]) => amount > 0).map(([resource, amount]) => requestText(resource, amount)),
    refusals: refusalsOf(placement.refusals, names),
    passed: placement.feasible,
    tied: placement.tied,
    candidates: (preemption?.candidates ?? []).toSorted((a, b) => compare(rankOf(a, best), rankOf(b, best))),
    best,
    node: pods.find(({ pod }) => pod.key === placement.pod.key)?.node ?? null,
    message,
  };
}

function requestText(resource: string, amount: number): string {
  if (resource === 'cpu') return `cpu ${amount / 1000}`;
  return resource === 'memory' || resource === 'ephemeral-storage' ? `${resource} ${formatBytes(amount)}` : `${resource} ${amount}`;
}

/** Each reason once, with its nodes, the most common first. */
function refusalsOf(refusals: readonly (Refusal | null)[], names: readonly string[]): Explanation['refusals'] {
  const reasons = new Map<string, { plugin: string; reason: string; isResolvable: boolean; nodes: string[] }>();
  for (const [index, refusal] of refusals.entries()) {
    if (refusal === null) continue;
    for (const reason of refusal.reasons) {
      const key = `${refusal.code} ${refusal.plugin} ${reason}`;
      const known = reasons.get(key) ?? { plugin: refusal.plugin, reason, isResolvable: refusal.code === 'unschedulable', nodes: [] };
      known.nodes.push(names[index] ?? '');
      reasons.set(key, known);
    }
  }
  return [...reasons.values()].toSorted((a, b) => b.nodes.length - a.nodes.length);
}

function rankOf({ node, victims, violations }: Candidate, best: readonly string[]): readonly number[] {
  return [Number(!best.includes(node)), violations, victims[0]?.priority ?? 0, victims.length];
}

function compare(first: readonly number[], second: readonly number[]): number {
  const index = first.findIndex((value, at) => value !== second[at]);
  return index < 0 ? 0 : (first[index] ?? 0) - (second[index] ?? 0);
}
