import type { Placement } from '../../domain/gang/placement.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import { type Fields, fieldsOf, listAt, mapAt, textAt } from '../../kube/objects/fields.ts';

/** The clouds whose Spot machines the operator can ask for. */
export const CLOUDS = ['gke', 'eks', 'karpenter', 'aks'] as const;
/** One of {@link CLOUDS}. */
export type Cloud = (typeof CLOUDS)[number];

/** The label of a cloud's Spot machines; a taint of the same key and value often goes with it. */
const SPOT_LABELS: Readonly<Record<Cloud, { readonly key: string; readonly value: string }>> = {
  gke: { key: 'cloud.google.com/gke-spot', value: 'true' },
  eks: { key: 'eks.amazonaws.com/capacityType', value: 'SPOT' },
  karpenter: { key: 'karpenter.sh/capacity-type', value: 'spot' },
  aks: { key: 'kubernetes.azure.com/scalesetpriority', value: 'spot' },
};

/** The beginnings of the providerID of nodes. */
const PROVIDERS: readonly (readonly [string, Cloud])[] = [
  ['gce://', 'gke'],
  ['aws://', 'eks'],
  ['azure://', 'aks'],
];
const KARPENTER_LABEL = 'karpenter.sh/nodepool';

/**
 * The cloud of a cluster by its nodes: by their providerID, and never by their being Spot, because
 * a pool of Spot machines may have none now. Null: unknown.
 */
export function cloudOf(nodes: Iterable<ApiObject>): Cloud | null {
  let found: Cloud | null = null;
  for (const node of nodes) {
    const id = textAt(node, 'spec', 'providerID') ?? '';
    found ??= PROVIDERS.find(([start]) => id.startsWith(start))?.[1] ?? null;
    if (found === 'eks' && mapAt(node, 'metadata', 'labels').has(KARPENTER_LABEL)) return 'karpenter';
    if (found !== null && found !== 'eks') return found;
  }
  return found;
}

/** The spec of a pod for these machines of a cloud. */
export function withPlacement(spec: Fields, cloud: Cloud, placement: Placement): Fields {
  const { key, value } = SPOT_LABELS[cloud];
  if (placement === 'on-demand') return withRequirement(spec, { key, operator: 'NotIn', values: [value] });
  const toleration = { key, operator: 'Equal', value, effect: 'NoSchedule' };
  return {
    ...spec,
    nodeSelector: { ...fieldsOf(spec['nodeSelector']), [key]: value },
    tolerations: [...listAt(spec, 'tolerations'), toleration],
  };
}

/** Every term of a required affinity is an alternative, so that each gets the requirement. */
function withRequirement(spec: Fields, requirement: Fields): Fields {
  const affinity = fieldsOf(spec['affinity']);
  const nodeAffinity = fieldsOf(affinity['nodeAffinity']);
  const required = fieldsOf(nodeAffinity['requiredDuringSchedulingIgnoredDuringExecution']);
  const terms = listAt(required, 'nodeSelectorTerms').map(fieldsOf);
  const nodeSelectorTerms = (terms.length === 0 ? [{}] : terms).map((term) => ({
    ...term,
    matchExpressions: [...listAt(term, 'matchExpressions'), requirement],
  }));
  return {
    ...spec,
    affinity: {
      ...affinity,
      nodeAffinity: { ...nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: { ...required, nodeSelectorTerms } },
    },
  };
}
