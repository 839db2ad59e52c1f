import type { Cluster } from '../cluster/cluster.ts';
import type { ClusterNode } from '../cluster/node.ts';
import { cordon, whenNextPodIsPlaced } from './objects.ts';
import type { Control, Form, Manner } from './training-job.ts';

/** A run that holds at its step, and waits to be interrupted. */
export interface HoldingRun {
  readonly cluster: Cluster;
  readonly job: string;
  readonly pod: string;
  readonly node: string;
  readonly shared: string;
  readonly manner: Manner;
}

/** What Kubernetes leaves on a pod, and what its Job makes of that. */
export interface Marks {
  /** The reason of its condition `DisruptionTarget`, however it ended; null: there is no such condition. */
  readonly disruption: string | null;
  /** Its own reason when it failed; null: none. One that succeeded has none, whatever came over it. */
  readonly podReason: string | null;
  /** How often its Job counts it when it was killed, or nobody can tell how it ended. Who ends with 0, or interrupted as the contract has it, is never counted. */
  readonly failuresWhenKilled: 0 | 1;
}

/** Nothing tells that it was not the trainer's own doing. */
export const NO_MARKS: Marks = { disruption: null, podReason: null, failuresWhenKilled: 1 };

/** The condition that the recommended policy ignores. */
export function disruptedBy(disruption: string, podReason: string | null = null): Marks {
  return { disruption, podReason, failuresWhenKilled: 0 };
}

export interface Cause {
  readonly name: string;
  /** For a table that people read. */
  readonly title: string;
  /** What becomes of a run that leaves with 0 when it is told to end: called complete though it is not, or started again by its Job. */
  readonly exitWithZero: 'complete' | 'started again';
  /** How a supervised run may end by it: 143 where there is time for an orderly end, 137 where a kill may come first, null where nobody is left to tell. */
  readonly exitCodes: readonly (number | null)[];
  readonly marks: Marks;
  /**
   * Whose word decides how long a pod may go on after SIGTERM: its own, its node's (which is enough to save, but for one that measures it), nobody's (a
   * second or two), or there is no SIGTERM at all; unsure where we have seen more than one of these.
   */
  readonly grace: 'pod' | 'node' | 'short' | 'none' | 'unsure';
  /** How long a supervised run believes that it has, in seconds, where that is less than what its pod asks for. */
  readonly believesSeconds?: number;
  /** How the supervisor comes into the pod. */
  readonly forms: readonly [Form, ...Form[]];
  /** What is done to a control other than the one with a trap, too. */
  readonly otherControls?: readonly Control[];
  /** More fields of the Job, and of its pods. */
  readonly jobSpec?: Readonly<Record<string, unknown>>;
  readonly podSpec?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly tmpLimit?: string;
  interrupt(run: HoldingRun): Promise<void>;
  /** Lets the Job go on, once the pod has ended. */
  relieve(run: HoldingRun): Promise<void>;
}

/** Has the next pod of the Job placed elsewhere. */
export const keepOff = ({ cluster, node }: HoldingRun): Promise<void> => cordon(cluster, node, true);

/** Waits until it is, and lets the node take pods again. */
export async function oncePlaced({ cluster, node, job }: HoldingRun): Promise<void> {
  await whenNextPodIsPlaced(cluster, job, node);
  await cordon(cluster, node, false);
}

export function nodeNamed(cluster: Cluster, name: string): ClusterNode {
  const node = cluster.nodes.find((each) => each.name === name);
  if (node === undefined) throw new Error(`there is no node ${name}`);
  return node;
}
