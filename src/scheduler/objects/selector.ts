import { at, isFields, listAt, mapAt, textAt, textsAt } from '../../kube/objects/fields.ts';

/** The labels of an object, by key. */
export type Labels = ReadonlyMap<string, string>;

/** One requirement of a label selector or of a node selector. */
export interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** All requirements must hold. Null selects nothing; an empty list selects everything. */
export type Selector = readonly Requirement[] | null;

/** Reads a label selector; a missing one selects nothing, as Kubernetes has it. */
export function selectorOf(value: unknown): Selector {
  if (!isFields(value)) return null;
  const labels = [...mapAt(value, 'matchLabels')].map(([key, label]) => ({ key, operator: 'In', values: [label] }));
  return [...labels, ...requirementsAt(value, 'matchExpressions')];
}

/** The selector of a Service or a ReplicationController: a plain map of labels. */
export function plainSelectorOf(labels: Labels): Selector {
  return [...labels].map(([key, label]) => ({ key, operator: 'In', values: [label] }));
}

/** Reads a list of requirements. */
export function requirementsAt(value: unknown, ...path: readonly string[]): readonly Requirement[] {
  return listAt(value, ...path).map((each) => ({
    key: textAt(each, 'key') ?? '',
    operator: String(at(each, 'operator')),
    values: textsAt(each, 'values'),
  }));
}

/** Whether all requirements hold for these labels. */
export function selects(selector: Selector, labels: Labels): boolean {
  return selector !== null && selector.every((requirement) => holds(requirement, labels.get(requirement.key)));
}

/** Whether one requirement holds for a label’s value. An unknown operator holds for nothing. */
export function holds({ operator, values }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return compared(value, values, (own, bound) => own > bound);
    case 'Lt':
      return compared(value, values, (own, bound) => own < bound);
    default:
      return false;
  }
}

const WHOLE = /^[+-]?\d{1,18}$/;

function compared(value: string | undefined, [bound]: readonly string[], how: (own: bigint, bound: bigint) => boolean): boolean {
  if (value === undefined || bound === undefined || !WHOLE.test(value) || !WHOLE.test(bound)) return false;
  return how(BigInt(value), BigInt(bound));
}
