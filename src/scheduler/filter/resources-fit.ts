import type { NodeState } from '../cluster/node-state.ts';
import type { MakeFilter } from './filter.ts';
import type { Refusal } from './verdict.ts';

const PLUGIN = 'NodeResourcesFit';
/** The bits of what is wrong with a node; each column that lacks something has one above them. */
const [FULL, HOPELESS, FIRST_COLUMN] = [1, 2, 4] as const;
/** So many columns have a bit each in a number. */
const MOST_COLUMNS = 50;

/** Whether the pod’s requests fit beside those of the pods on the node. */
export const resourcesFit: MakeFilter = ({ columns, amounts }, cluster) => {
  const lacksNothing = (node: NodeState): boolean => {
    for (let index = 0; index < columns.length; index += 1) {
      const column = columns[index] as number;
      if ((amounts[index] as number) > node.capacity(column) - node.usage(column)) return false;
    }
    return true;
  };
  const refusalFor = (node: NodeState): Refusal => {
    const lacking = columns.flatMap((column, index) =>
      (amounts[index] as number) > node.capacity(column) - node.usage(column) ? [{ column, asked: amounts[index] as number }] : [],
    );
    const isFull = node.pods.length + 1 > node.maxPods;
    const reasons = [...(isFull ? ['Too many pods'] : []), ...lacking.map(({ column }) => `Insufficient ${cluster.columns.names[column]}`)];
    // More than the node has at all stays too much, however many pods leave.
    const isHopeless = lacking.some(({ column, asked }) => asked > node.capacity(column));
    return { code: isHopeless ? 'unresolvable' : 'unschedulable', plugin: PLUGIN, reasons };
  };
  // Refusals repeat from node to node.
  const known = new Map<number, Refusal>();
  const refused = (node: NodeState): Refusal => {
    if (columns.length > MOST_COLUMNS) return refusalFor(node);
    let key = node.pods.length < node.maxPods ? 0 : FULL;
    let isHopeless = false;
    for (let index = 0, bit: number = FIRST_COLUMN; index < columns.length; index += 1, bit *= 2) {
      const [column, asked] = [columns[index] as number, amounts[index] as number];
      const capacity = node.capacity(column);
      if (asked > capacity - node.usage(column)) key += bit;
      isHopeless ||= asked > capacity;
    }
    if (isHopeless) key += HOPELESS;
    const found = known.get(key) ?? refusalFor(node);
    known.set(key, found);
    return found;
  };
  return { check: (node) => (node.pods.length < node.maxPods && lacksNothing(node) ? null : refused(node)) };
};
