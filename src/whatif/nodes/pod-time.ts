import { causeGrace, type GraceCause } from '../../domain/grace/cause-grace.ts';
import type { CloudName } from '../../domain/grace/clouds.ts';
import { at } from '../../kube/objects/fields.ts';
import { cloudOf, podGraceOf } from '../../kube/objects/grace-facts.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import { podSpecOf } from '../../kube/objects/pod-spec.ts';

/** How a node goes: emptied by a person, taken back by its cloud, or silent without a warning. */
export type Leaving = 'drain' | 'reclaim' | 'lose';

/** The time that a pod of such a node has. */
export interface PodTime {
  /** From SIGTERM to SIGKILL, for the shortest of all limits. */
  readonly graceMs: number;
  /** Whether it gets a SIGTERM at all. */
  readonly isTold: boolean;
  /** From the event to the deletion that lets a controller create it again. */
  readonly replacedAfterMs: number;
}

/** How long the control plane waits for a silent node, since 1.32. */
const SILENCE_MS = 50_000;

/** How long a pod has when its node goes, by the same chain of limits as `holdfast grace`. */
export function podTime(how: Leaving, pod: KubeObject | undefined, node: KubeObject | undefined): PodTime {
  const grace = podGraceOf(podSpecOf(at(pod?.fields, 'spec')), { cloud: cloudOf(node?.labels ?? new Map()) });
  const { graceMs, isTold } = causeGrace(causeOf(how, grace.cloud), grace);
  if (how === 'lose') return { graceMs, isTold, replacedAfterMs: SILENCE_MS + 1000 * grace.tolerationSeconds };
  return { graceMs, isTold, replacedAfterMs: graceMs };
}

/** Without a known cloud, a reclaim is what the kubelet makes of a shutdown. */
function causeOf(how: Leaving, cloud: CloudName | null): GraceCause {
  if (how === 'drain') return 'drain';
  if (how === 'lose') return 'node-lost';
  return cloud === null ? 'shutdown' : 'reclaim';
}
