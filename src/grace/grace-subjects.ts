import type { CloudName } from '../domain/grace/clouds.ts';
import type { KubeletGrace, PodGrace } from '../domain/grace/pod-grace.ts';
import type { ClusterState } from '../kube/objects/cluster-state.ts';
import { cloudOf, podGraceOf } from '../kube/objects/grace-facts.ts';
import { kubeletSettings } from '../kube/objects/kubelet-settings.ts';
import { numberAt } from '../kube/objects/fields.ts';
import type { PodSpec } from '../kube/objects/pod-spec.ts';
import { controllerOf, type KubeObject, titleOf } from '../kube/objects/object.ts';
import { podOf } from '../kube/objects/pod.ts';
import { templatesOf } from '../kube/objects/templates.ts';
import { clampAmong } from './policies.ts';

/** The settings from the command line. */
export interface GraceChoice {
  readonly cloud: CloudName | null;
  readonly deleteSeconds: number | null;
  readonly kubelet: KubeletGrace | null;
}

/** A kind of pod to judge. */
export interface GraceSubject {
  readonly title: string;
  readonly pod: PodGrace;
}

/** The pods of these objects: every template, and every pod that no other object here creates. */
export function graceSubjects(objects: readonly KubeObject[], state: ClusterState, choice: GraceChoice): readonly GraceSubject[] {
  const clamp = clampAmong(state.objects);
  return objects.flatMap((object) => {
    const templates = templatesOf(object);
    return templates.map(({ role, spec }) => {
      const clampedBy = object.kind === 'Pod' ? changedOnTheWay(object, state) : null;
      const asked = clampedBy === null ? spec.graceSeconds : clampedBy.asked;
      const pod = podGraceOf(
        { ...spec, graceSeconds: asked, priority: spec.priority ?? priorityOf(spec, state) },
        {
          cloud: choice.cloud ?? cloudOfNode(spec.nodeName, state),
          deleteSeconds: choice.deleteSeconds,
          clamp: clampedBy ?? clamp,
          ...(choice.kubelet === null ? {} : { kubelet: choice.kubelet }),
        },
      );
      return { title: `${titleOf(object)}${role === null ? '' : `, ${role}`}`, pod };
    });
  });
}

/** The priority that a class among the objects gives to new pods; null: it is not there. */
function priorityOf({ priorityClass }: PodSpec, state: ClusterState): number | null {
  const [found] = priorityClass === null ? [] : state.find('PriorityClass', priorityClass, null);
  return found === undefined ? null : numberAt(found.fields, 'value');
}

/**
 * The kubelet settings among the objects read. A KubeletConfiguration has no name, so it is
 * searched separately.
 */
export function kubeletAmong(values: readonly unknown[]): KubeletGrace | null {
  return values.map(kubeletSettings).find((settings) => settings !== null) ?? null;
}

/** An admission policy changed a pod whose grace is shorter than its owner requests. */
function changedOnTheWay(
  object: KubeObject,
  state: ClusterState,
): { readonly seconds: number; readonly by: string; readonly asked: number } | null {
  const owner = controllerOf(object);
  if (owner === null) return null;
  const [maker] = state.find(owner.kind, owner.name, object.namespace);
  const asked = maker === undefined ? null : (templatesOf(maker)[0]?.spec.graceSeconds ?? null);
  const has = podOf(object).spec.graceSeconds;
  if (asked === null || has === null || has >= asked) return null;
  return { seconds: has, asked, by: `an admission policy (its ${owner.kind} asks for ${asked}s)` };
}

/** The cloud according to the labels of the node. */
function cloudOfNode(nodeName: string | null, state: ClusterState): CloudName | null {
  const node = nodeName === null ? null : state.node(nodeName);
  return node === null ? null : cloudOf(node.object.labels);
}
