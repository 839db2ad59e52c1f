import { at, isFields, listAt, numberAt, textAt, textsAt } from '../../kube/objects/fields.ts';
import { type Labels, type Requirement, type Selector, holds, requirementsAt, selectorOf, selects } from './selector.ts';

/** One term of a node selector: all its requirements must hold, for labels and for fields. */
export interface NodeTerm {
  readonly labels: readonly Requirement[];
  /** Of the fields a node has only its name. */
  readonly fields: readonly Requirement[];
}

/** Other pods, in the same domain of a node label. */
export interface PodTerm {
  readonly selector: Selector;
  readonly topologyKey: string;
  readonly namespaces: readonly string[];
  /** More namespaces, by their labels. */
  readonly namespaceSelector: Selector;
}

/** A preference, and how much it counts. */
export interface Weighted<What> {
  readonly weight: number;
  readonly what: What;
}

/** What a pod wants of nodes and neighbours. */
export interface Affinity {
  /** Any of these; null when any node will do. */
  readonly nodeTerms: readonly NodeTerm[] | null;
  readonly preferredNodes: readonly Weighted<NodeTerm>[];
  readonly near: readonly PodTerm[];
  readonly apart: readonly PodTerm[];
  readonly preferNear: readonly Weighted<PodTerm>[];
  readonly preferApart: readonly Weighted<PodTerm>[];
}

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';

/** Reads `spec.affinity` of a pod with this namespace and these labels. */
export function affinityOf(value: unknown, namespace: string, labels: Labels): Affinity {
  const term = (each: unknown): PodTerm => podTermOf(each, namespace, labels);
  const wish = (each: unknown): Weighted<PodTerm> => ({ weight: numberAt(each, 'weight') ?? 0, what: term(at(each, 'podAffinityTerm')) });
  const nodes = at(value, 'nodeAffinity', REQUIRED);
  return {
    nodeTerms: isFields(nodes) ? listAt(nodes, 'nodeSelectorTerms').map(nodeTermOf) : null,
    preferredNodes: listAt(value, 'nodeAffinity', PREFERRED).map((each) => ({
      weight: numberAt(each, 'weight') ?? 0,
      what: nodeTermOf(at(each, 'preference')),
    })),
    near: listAt(value, 'podAffinity', REQUIRED).map(term),
    apart: listAt(value, 'podAntiAffinity', REQUIRED).map(term),
    preferNear: listAt(value, 'podAffinity', PREFERRED).map(wish),
    preferApart: listAt(value, 'podAntiAffinity', PREFERRED).map(wish),
  };
}

/** Whether a node meets a term. An empty term matches no node. */
export function meetsNodeTerm({ labels, fields }: NodeTerm, node: { readonly name: string; readonly labels: Labels }): boolean {
  if (labels.length + fields.length === 0) return false;
  const isNamed = fields.every((field) => field.key === 'metadata.name' && holds(field, node.name));
  return isNamed && labels.every((requirement) => holds(requirement, node.labels.get(requirement.key)));
}

/**
 * Whether a pod is one of those that a term means. `namespaceLabels` are those of its namespace.
 */
export function isMeant(
  { selector, namespaces, namespaceSelector }: PodTerm,
  pod: { readonly namespace: string; readonly labels: Labels },
  namespaceLabels: Labels,
): boolean {
  return (namespaces.includes(pod.namespace) || selects(namespaceSelector, namespaceLabels)) && selects(selector, pod.labels);
}

function nodeTermOf(value: unknown): NodeTerm {
  return { labels: requirementsAt(value, 'matchExpressions'), fields: requirementsAt(value, 'matchFields') };
}

function podTermOf(value: unknown, namespace: string, labels: Labels): PodTerm {
  const namespaces = textsAt(value, 'namespaces');
  const namespaceSelector = selectorOf(at(value, 'namespaceSelector'));
  return {
    selector: withLabelKeys(value, selectorOf(at(value, 'labelSelector')), labels),
    topologyKey: textAt(value, 'topologyKey') ?? '',
    namespaces: namespaces.length === 0 && namespaceSelector === null ? [namespace] : namespaces,
    namespaceSelector,
  };
}

/** The selector and what the pod’s own labels add to it, through `(mis)matchLabelKeys`. */
export function withLabelKeys(value: unknown, selector: Selector, labels: Labels): Selector {
  if (selector === null) return null;
  const added = (field: string, operator: string): readonly Requirement[] =>
    textsAt(value, field).flatMap((key) => {
      const label = labels.get(key);
      return label === undefined ? [] : [{ key, operator, values: [label] }];
    });
  return [...selector, ...added('matchLabelKeys', 'In'), ...added('mismatchLabelKeys', 'NotIn')];
}

/** Whether a node has every label of a node selector. */
export function hasLabels(wanted: Labels, labels: Labels): boolean {
  for (const [key, value] of wanted) if (labels.get(key) !== value) return false;
  return true;
}
