import { type Condition, conditionsOf } from './condition.ts';
import { at, listAt, textAt, timeAt } from './fields.ts';
import type { KubeObject } from './object.ts';

/** A taint of a node. */
export interface Taint {
  readonly key: string;
  readonly effect: string;
  readonly addedMs: number | null;
}

/** A node as the API server shows it. */
export interface KubeNode {
  readonly object: KubeObject;
  readonly conditions: readonly Condition[];
  readonly taints: readonly Taint[];
  readonly isUnschedulable: boolean;
  /** The node pool, from the label of its cloud. */
  readonly pool: string | null;
  readonly kubeletVersion: string | null;
}

const POOL_LABELS = ['cloud.google.com/gke-nodepool', 'eks.amazonaws.com/nodegroup', 'karpenter.sh/nodepool', 'agentpool'] as const;

/** Reads a node. */
export function nodeOf(object: KubeObject): KubeNode {
  const { fields, labels } = object;
  return {
    object,
    conditions: conditionsOf(fields),
    taints: listAt(fields, 'spec', 'taints').flatMap(taintOf),
    isUnschedulable: at(fields, 'spec', 'unschedulable') === true,
    pool: POOL_LABELS.map((label) => labels.get(label)).find((pool) => pool !== undefined) ?? null,
    kubeletVersion: textAt(fields, 'status', 'nodeInfo', 'kubeletVersion'),
  };
}

function taintOf(value: unknown): readonly Taint[] {
  const [key, effect] = [textAt(value, 'key'), textAt(value, 'effect')];
  return key === null || effect === null ? [] : [{ key, effect, addedMs: timeAt(value, 'timeAdded') }];
}
