import type { SchedulerPod } from '../objects/pod.ts';
import { type Pressure, type Usage, kindOf, usedOf } from './pressure.ts';

/** A pod on a node that is short of something. */
export interface PressedPod {
  readonly pod: SchedulerPod;
  /** Null when the kubelet has no figures about it. */
  readonly usage: Usage | null;
  /** A static pod or its mirror: the kubelet never evicts it. */
  readonly isStatic: boolean;
}

/** A pod in the order in which the kubelet evicts. */
export interface RankedPod extends PressedPod {
  /** Whether it uses more than it asked for; null when that does not count. */
  readonly exceeds: boolean | null;
  /** How much it uses above what it asked for; below 0 when it uses less. Null without figures. */
  readonly above: number | null;
  /** Pods of the same rank are evicted in any order. Starts at 0. */
  readonly rank: number;
  /** The kubelet passes over it, however high it ranks: it is static or critical. */
  readonly isSpared: boolean;
}

/** Pods of this priority and above are critical. */
const CRITICAL = 2_000_000_000;

/** The order in which a kubelet evicts the pods of its node. It takes one, and measures again. */
export function rankForEviction(pods: readonly PressedPod[], pressure: Pressure): readonly RankedPod[] {
  const measured = pods.map((each) => ({ each, measures: measuresOf(each, pressure) }));
  measured.sort((first, second) => compare(first.measures, second.measures));
  let rank = -1;
  return measured.map(({ each, measures }, index) => {
    const before = measured[index - 1];
    if (before === undefined || compare(before.measures, measures) !== 0) rank += 1;
    const isSpared = each.isStatic || each.pod.priority >= CRITICAL;
    return { ...each, ...excessOf(each, pressure), rank, isSpared };
  });
}

/** The smaller goes first, one after the other. Of processes only their number counts. */
function measuresOf({ pod, usage }: PressedPod, pressure: Pressure): readonly number[] {
  if (kindOf(pressure) === 'processes') return [pod.priority, usage === null ? 0 : 1, -(usage?.processes ?? 0)];
  const { exceeds, above } = excessOf({ pod, usage }, pressure);
  return usage === null ? [0, 0, pod.priority, 0] : [1, exceeds === true ? 0 : 1, pod.priority, -(above ?? 0)];
}

function excessOf({ pod, usage }: Pick<PressedPod, 'pod' | 'usage'>, pressure: Pressure): Pick<RankedPod, 'exceeds' | 'above'> {
  const kind = kindOf(pressure);
  if (usage === null || kind === 'processes') return { exceeds: null, above: null };
  const asked = pod.requests.atEviction;
  const [memory, disk] = [asked.get('memory') ?? 0, asked.get('ephemeral-storage') ?? 0];
  const used = usedOf(usage, pressure, kind);
  const requested = { memory, disk, inodes: 0 }[kind];
  // The kubelet subtracts a number of bytes from a number of inodes.
  return { exceeds: used > requested, above: used - (kind === 'memory' ? memory : disk) };
}

function compare(first: readonly number[], second: readonly number[]): number {
  const at = first.findIndex((value, index) => value !== second[index]);
  return at < 0 ? 0 : (first[at] as number) - (second[at] as number);
}
