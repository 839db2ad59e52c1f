import { conditionsOf } from '../../kube/objects/condition.ts';
import { at, fieldsOf, listAt, mapAt, numberAt, textAt, timeAt } from '../../kube/objects/fields.ts';
import { type KubeObject, type Owner, controllerOf } from '../../kube/objects/object.ts';
import { type Affinity, affinityOf } from './affinity.ts';
import { type PodRequests, podRequestsOf } from './pod-requests.ts';
import type { Labels } from './selector.ts';
import { type Spread, spreadsOf } from './spread.ts';
import { type Toleration, tolerationsOf } from './toleration.ts';

/** The name of kube-scheduler in a pod that names no other. */
export const DEFAULT_SCHEDULER = 'default-scheduler';

/** A port of the node that a container takes. */
export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/** What the scheduler reads of a pod. */
export interface SchedulerPod {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
  readonly controller: Owner | null;
  readonly schedulerName: string;
  /** The node that it is bound to. */
  readonly nodeName: string | null;
  readonly nominatedNode: string | null;
  readonly priority: number;
  readonly neverPreempts: boolean;
  /** Null: it has not started. The scheduler counts that as now. */
  readonly startMs: number | null;
  readonly isTerminating: boolean;
  /** It is terminating because the scheduler evicted it for a more important pod. */
  readonly isPreempted: boolean;
  /** It ended, and takes no room although its object is there. */
  readonly isOver: boolean;
  readonly requests: PodRequests;
  readonly hostPorts: readonly HostPort[];
  /** In the order of its containers, the main ones first. */
  readonly images: readonly string[];
  readonly tolerations: readonly Toleration[];
  readonly nodeSelector: Labels;
  readonly affinity: Affinity;
  readonly spreads: readonly Spread[];
  /** The PodGroup of Kubernetes itself that it belongs to. */
  readonly group: string | null;
  /** Its volume claims, by name. */
  readonly claims: readonly string[];
  /** What could not be read, and how it is counted. */
  readonly problems: readonly string[];
  /** What the answer leaves out of account, such as DRA claims. */
  readonly notModelled: readonly string[];
}

/** Fields of a pod that the objects around it decide. */
export interface PodDefaults {
  /** Of its priority class, if the spec has no number itself. */
  readonly priorityOfClass: (name: string | null) => { readonly value: number; readonly neverPreempts: boolean };
  readonly namespace: string;
}

/** Reads a Pod object, or a pod made of a template. */
export function schedulerPodOf(object: KubeObject, defaults: PodDefaults): SchedulerPod {
  const { fields, name, labels } = object;
  const [spec, status] = [at(fields, 'spec'), at(fields, 'status')];
  const namespace = object.namespace ?? defaults.namespace;
  const problems: string[] = [];
  const phase = textAt(status, 'phase');
  const ofClass = defaults.priorityOfClass(textAt(spec, 'priorityClassName'));
  const isTerminating = object.deletionMs !== null;
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    labels,
    controller: controllerOf(object),
    schedulerName: textAt(spec, 'schedulerName') ?? DEFAULT_SCHEDULER,
    nodeName: textAt(spec, 'nodeName'),
    nominatedNode: textAt(status, 'nominatedNodeName'),
    priority: numberAt(spec, 'priority') ?? ofClass.value,
    neverPreempts: (textAt(spec, 'preemptionPolicy') ?? (ofClass.neverPreempts ? 'Never' : '')) === 'Never',
    startMs: timeAt(status, 'startTime'),
    isTerminating,
    isPreempted: isTerminating && hasBeenPreempted(fields),
    isOver: phase === 'Succeeded' || phase === 'Failed',
    requests: podRequestsOf(spec, problems),
    hostPorts: hostPortsOf(spec),
    images: [...listAt(spec, 'containers'), ...listAt(spec, 'initContainers')].map((each) => textAt(each, 'image') ?? ''),
    tolerations: tolerationsOf(spec),
    nodeSelector: mapAt(spec, 'nodeSelector'),
    affinity: affinityOf(at(spec, 'affinity'), namespace, labels),
    spreads: spreadsOf(spec, labels),
    group: textAt(spec, 'schedulingGroup', 'podGroupName'),
    claims: listAt(spec, 'volumes').flatMap((volume) => textAt(volume, 'persistentVolumeClaim', 'claimName') ?? []),
    problems,
    notModelled: notModelledOf(spec),
  };
}

function hasBeenPreempted(fields: unknown): boolean {
  const target = conditionsOf(fieldsOf(fields)).find(({ type }) => type === 'DisruptionTarget');
  return target !== undefined && target.status === 'True' && target.reason === 'PreemptionByScheduler';
}

/** Containers on the host’s network take all their ports there. */
function hostPortsOf(spec: unknown): readonly HostPort[] {
  const isOnHost = at(spec, 'hostNetwork') === true;
  const sidecars = listAt(spec, 'initContainers').filter((each) => at(each, 'restartPolicy') === 'Always');
  return [...listAt(spec, 'containers'), ...sidecars].flatMap((container) =>
    listAt(container, 'ports').flatMap((each): readonly HostPort[] => {
      const port = numberAt(each, 'hostPort') ?? (isOnHost ? numberAt(each, 'containerPort') : null);
      if (port === null || port <= 0) return [];
      return [{ ip: textAt(each, 'hostIP') ?? '0.0.0.0', protocol: textAt(each, 'protocol') ?? 'TCP', port }];
    }),
  );
}

function notModelledOf(spec: unknown): readonly string[] {
  const found: string[] = [];
  if (listAt(spec, 'resourceClaims').length > 0) found.push('it has DRA resource claims (spec.resourceClaims)');
  if (listAt(spec, 'schedulingGates').length > 0) found.push('it is held back by scheduling gates (spec.schedulingGates)');
  if (listAt(spec, 'volumes').some((volume) => at(volume, 'ephemeral') !== undefined))
    found.push('it has volumes whose claims are made with it (ephemeral)');
  return found;
}
