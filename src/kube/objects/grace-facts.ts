import { firstProcessOf } from '../../domain/grace/first-process.ts';
import { DEFAULT_KUBELET, type KubeletGrace, type PodGrace } from '../../domain/grace/pod-grace.ts';
import type { CloudName } from '../../domain/grace/clouds.ts';
import type { ContainerSpec, PodSpec } from './pod-spec.ts';

/** The known facts beside the manifest. */
export interface GraceSurroundings {
  readonly kubelet?: KubeletGrace;
  readonly cloud?: CloudName | null;
  readonly deleteSeconds?: number | null;
  readonly clamp?: PodGrace['clamp'];
}

/** The classes that every cluster has. */
const SYSTEM_CLASSES: ReadonlyMap<string, number> = new Map([
  ['system-cluster-critical', 2_000_000_000],
  ['system-node-critical', 2_000_001_000],
]);
/** The toleration that DefaultTolerationSeconds adds to a pod without its own. */
const DEFAULT_TOLERATION_SECONDS = 300;
const UNREACHABLE = 'node.kubernetes.io/unreachable';

/** The facts that decide how long a pod has, from its spec and its node. */
export function podGraceOf(
  spec: PodSpec,
  { kubelet = DEFAULT_KUBELET, cloud = null, deleteSeconds = null, clamp = null }: GraceSurroundings = {},
): PodGrace {
  const { command, env, preStop } = mainContainer(spec.containers) ?? NO_CONTAINER;
  return {
    ...firstProcessOf(command, env),
    graceSeconds: spec.graceSeconds,
    deleteSeconds,
    preStop: preStop === null ? null : { seconds: preStop.seconds },
    clamp: clampOf(spec, clamp),
    kubelet,
    cloud: cloud ?? cloudOf(spec.nodeSelector),
    priority: priorityOf(spec),
    tolerationSeconds: spec.tolerations.find(({ key }) => key === UNREACHABLE)?.seconds ?? DEFAULT_TOLERATION_SECONDS,
  };
}

function priorityOf({ priority, priorityClass }: PodSpec): number {
  return priority ?? SYSTEM_CLASSES.get(priorityClass ?? '') ?? 0;
}

const NO_CONTAINER: Pick<ContainerSpec, 'command' | 'env' | 'preStop'> = { command: [], env: new Map(), preStop: null };

/** The training container: the one with accelerators, or else the first. */
export function mainContainer(containers: readonly ContainerSpec[]): ContainerSpec | null {
  return containers.find(({ accelerators }) => accelerators > 0) ?? containers[0] ?? null;
}

/** The cloud that a node selector requests. */
export function cloudOf(selector: ReadonlyMap<string, string>): CloudName | null {
  if (selector.get('cloud.google.com/gke-flex-start') === 'true') return 'gke-flex-start';
  if (selector.get('cloud.google.com/gke-spot') === 'true' || selector.get('cloud.google.com/gke-provisioning') === 'spot')
    return 'gke-spot';
  if (selector.get('cloud.google.com/gke-preemptible') === 'true') return 'gke-preemptible';
  if (selector.get('eks.amazonaws.com/capacityType') === 'SPOT' || selector.get('karpenter.sh/capacity-type') === 'spot') return 'ec2-spot';
  return selector.get('kubernetes.azure.com/scalesetpriority') === 'spot' ? 'azure-spot' : null;
}

/** A policy that lengthens the grace does not clamp it. */
function clampOf({ graceSeconds }: PodSpec, clamp: PodGrace['clamp']): PodGrace['clamp'] {
  return clamp !== null && graceSeconds !== null && graceSeconds > clamp.seconds ? clamp : null;
}
