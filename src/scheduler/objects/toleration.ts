import { listAt, textAt } from '../../kube/objects/fields.ts';
import type { Taint } from './node.ts';

/** The taints that a pod tolerates. */
export interface Toleration {
  /** Null tolerates any key. */
  readonly key: string | null;
  readonly operator: string;
  readonly value: string;
  /** Null tolerates any effect. */
  readonly effect: string | null;
}

/** Reads the tolerations of a pod’s spec. */
export function tolerationsOf(spec: unknown): readonly Toleration[] {
  return listAt(spec, 'tolerations').map((each) => ({
    key: textAt(each, 'key'),
    operator: textAt(each, 'operator') ?? 'Equal',
    value: textAt(each, 'value') ?? '',
    effect: textAt(each, 'effect'),
  }));
}

/** Whether any of the tolerations tolerates the taint. */
export function tolerates(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some(({ key, operator, value, effect }) => {
    const isAbout = (key === null || key === taint.key) && (effect === null || effect === taint.effect);
    return isAbout && (operator === 'Exists' || (operator === 'Equal' && value === taint.value));
  });
}

/** Whether the pod may be placed in spite of the taints. */
export function toleratesAll(tolerations: readonly Toleration[], taints: readonly Taint[]): boolean {
  return taints.every((taint) => taint.effect === 'PreferNoSchedule' || tolerates(tolerations, taint));
}
