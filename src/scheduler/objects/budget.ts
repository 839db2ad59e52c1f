import { at, fieldsOf, numberAt } from '../../kube/objects/fields.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import { type Selector, selectorOf } from './selector.ts';

/** What the scheduler reads of a PodDisruptionBudget. */
export interface Budget {
  readonly namespace: string;
  readonly name: string;
  readonly selector: Selector;
  /** From its status; 0 when nothing has set it yet. */
  readonly allowed: number;
  /** Names of pods whose disruption is already counted. */
  readonly disrupted: ReadonlySet<string>;
}

/** Reads a PodDisruptionBudget object. */
export function budgetOf({ namespace, name, fields }: KubeObject): Budget {
  return {
    namespace: namespace ?? 'default',
    name,
    selector: selectorOf(at(fields, 'spec', 'selector')),
    allowed: numberAt(fields, 'status', 'disruptionsAllowed') ?? 0,
    disrupted: new Set(Object.keys(fieldsOf(at(fields, 'status', 'disruptedPods')))),
  };
}
