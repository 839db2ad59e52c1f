import type { Cost } from '../../loss/cost.ts';
import type { SchedulerPod } from '../../../scheduler/objects/pod.ts';
import type { Cluster } from '../../../scheduler/cluster/cluster.ts';
import type { KubeObject } from '../../../kube/objects/object.ts';
import type { World } from '../../world/world.ts';
import type { Play } from '../play.ts';

/** A way to have the pods, or some of them, that loses less. */
export interface Alternative {
  readonly kind: 'other-node' | 'fewer-replicas' | 'fewer-demands' | 'other-victim' | 'wait-for-save' | 'make-room' | 'never-evict';
  /** What to do, in a few words. */
  readonly title: string;
  /** The exact change: a command, or lines of a manifest. */
  readonly change: readonly string[];
  readonly cost: Cost;
  /** The gangs that stop all the same. */
  readonly stops: readonly string[];
  /** Whether all pods have a node at once, without waiting for anything. */
  readonly isAtOnce: boolean;
}

/** What was asked, and what the scheduler would do. */
export interface Asked {
  readonly world: World;
  /** The cluster before; it is copied before it is changed. */
  readonly cluster: Cluster;
  readonly pods: readonly SchedulerPod[];
  readonly makers: readonly { readonly object: KubeObject; readonly pods: number }[];
  readonly main: Play;
  /** The path of the pod template in the manifest, with its dot at the end: `spec.template.`. */
  readonly template: string;
}

/** The cost of an alternative that was played. */
export function playedCost({ cost, stopped, nowhere }: Play): Pick<Alternative, 'cost' | 'stops' | 'isAtOnce'> {
  return { cost, stops: stopped.map(({ title }) => title), isAtOnce: nowhere.length === 0 };
}
