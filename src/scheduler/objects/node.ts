import { at, listAt, numberAt, textAt, textsAt } from '../../kube/objects/fields.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import { type Amounts, amountsOf } from './amounts.ts';
import type { Labels } from './selector.ts';

/** A mark of a node that keeps away the pods that do not tolerate it. */
export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

/** What the scheduler reads of a node. */
export interface SchedulerNode {
  readonly name: string;
  readonly labels: Labels;
  readonly taints: readonly Taint[];
  readonly isCordoned: boolean;
  readonly allocatable: Amounts;
  /** The size in bytes of each image that the node has, under each of its names. */
  readonly images: ReadonlyMap<string, number>;
  /** What could not be read, and how it is counted. */
  readonly problems: readonly string[];
}

/** Reads a Node object. */
export function schedulerNodeOf({ name, labels, fields }: KubeObject): SchedulerNode {
  const problems: string[] = [];
  return {
    name,
    labels,
    taints: listAt(fields, 'spec', 'taints').map((taint) => ({
      key: textAt(taint, 'key') ?? '',
      value: textAt(taint, 'value') ?? '',
      effect: textAt(taint, 'effect') ?? '',
    })),
    isCordoned: at(fields, 'spec', 'unschedulable') === true,
    allocatable: amountsOf(at(fields, 'status', 'allocatable'), 'status.allocatable', problems),
    images: new Map(
      listAt(fields, 'status', 'images').flatMap((image) =>
        textsAt(image, 'names').map((each) => [each, numberAt(image, 'sizeBytes') ?? 0] as const),
      ),
    ),
    problems,
  };
}
