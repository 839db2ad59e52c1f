import type { Cluster } from '../cluster/cluster.ts';
import type { ClusterNode } from '../cluster/node.ts';
import { cordon, whenNextPodIsPlaced } from './objects.ts';
import type { Control, Form, Manner } from './training-job.ts';

/** A run that waits at its step for the interruption. */
export interface HoldingRun {
  readonly cluster: Cluster;
  readonly job: string;
  readonly pod: string;
  readonly node: string;
  readonly shared: string;
  readonly manner: Manner;
}

/** The marks that Kubernetes leaves on an interrupted pod, and how its Job counts it. */
export interface Marks {
  /**
   * The reason of the pod's condition `DisruptionTarget`, whatever its exit code; null when it has
   * no such condition.
   */
  readonly disruption: string | null;
  /** The pod's own reason if it failed; null: none. A pod that succeeded never has one. */
  readonly podReason: string | null;
  /**
   * How often the Job counts a pod that was killed, or whose end is unknown. The Job never counts a
   * pod that ends with 0, or with 143 under the policy.
   */
  readonly failuresWhenKilled: 0 | 1;
}

/** The pod shows no sign that something else ended the trainer. */
export const NO_MARKS: Marks = { disruption: null, podReason: null, failuresWhenKilled: 1 };

/** The condition that the recommended policy ignores. */
export function disruptedBy(disruption: string, podReason: string | null = null): Marks {
  return { disruption, podReason, failuresWhenKilled: 0 };
}

export interface Cause {
  readonly name: string;
  /** The title for a table. */
  readonly title: string;
  /**
   * What the Job makes of a run that exits with 0 on SIGTERM: it is complete, or starts the run
   * again.
   */
  readonly exitWithZero: 'complete' | 'started again';
  /**
   * The possible exit codes of a supervised run: 143 if there is time for an orderly end, 137 if a
   * kill may come first, null if no process is left to report it.
   */
  readonly exitCodes: readonly (number | null)[];
  readonly marks: Marks;
  /**
   * What sets the time between SIGTERM and SIGKILL. `pod`: the pod's own grace. `node`: the node's
   * setting, which leaves enough for a save. `short`: a second or two. `none`: there is no SIGTERM.
   * `unsure`: we have seen more than one of these.
   */
  readonly grace: 'pod' | 'node' | 'short' | 'none' | 'unsure';
  /** How many seconds a supervised run expects, if that is less than its pod asks for. */
  readonly believesSeconds?: number;
  /** How the supervisor gets into the pod. */
  readonly forms: readonly [Form, ...Form[]];
  /** The controls to interrupt besides the one with a trap. */
  readonly otherControls?: readonly Control[];
  /** More fields for the Job and its pods. */
  readonly jobSpec?: Readonly<Record<string, unknown>>;
  readonly podSpec?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly tmpLimit?: string;
  interrupt(run: HoldingRun): Promise<void>;
  /** Ends the disturbance after the pod has ended, so that the Job can continue. */
  relieve(run: HoldingRun): Promise<void>;
}

/** Keeps the Job's next pod off this node. */
export const keepOff = ({ cluster, node }: HoldingRun): Promise<void> => cordon(cluster, node, true);

/** Waits until the next pod has a node, then opens this node again. */
export async function oncePlaced({ cluster, node, job }: HoldingRun): Promise<void> {
  await whenNextPodIsPlaced(cluster, job, node);
  await cordon(cluster, node, false);
}

export function nodeNamed(cluster: Cluster, name: string): ClusterNode {
  const node = cluster.nodes.find((each) => each.name === name);
  if (node === undefined) throw new Error(`there is no node ${name}`);
  return node;
}
