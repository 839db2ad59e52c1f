import { at, listAt, numberAt, textAt } from '../../kube/objects/fields.ts';
import { withLabelKeys } from './affinity.ts';
import { type Labels, type Selector, selectorOf } from './selector.ts';

/** A topology spread constraint. */
export interface Spread {
  readonly topologyKey: string;
  readonly selector: Selector;
  readonly maxSkew: number;
  /** With fewer domains the emptiest counts as empty. */
  readonly minDomains: number;
  /** Whether nodes that the pod does not want are left out of the count. */
  readonly honorsAffinity: boolean;
  /** Whether nodes with taints that the pod does not tolerate are left out of the count. */
  readonly honorsTaints: boolean;
  readonly isRequired: boolean;
}

/** Reads the spread constraints of a pod’s spec. */
export function spreadsOf(spec: unknown, labels: Labels): readonly Spread[] {
  return listAt(spec, 'topologySpreadConstraints').map((each) => ({
    topologyKey: textAt(each, 'topologyKey') ?? '',
    selector: withLabelKeys(each, selectorOf(at(each, 'labelSelector')), labels),
    maxSkew: numberAt(each, 'maxSkew') ?? 1,
    minDomains: numberAt(each, 'minDomains') ?? 1,
    honorsAffinity: at(each, 'nodeAffinityPolicy') !== 'Ignore',
    honorsTaints: at(each, 'nodeTaintsPolicy') === 'Honor',
    isRequired: at(each, 'whenUnsatisfiable') !== 'ScheduleAnyway',
  }));
}
