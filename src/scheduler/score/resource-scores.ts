import { CPU, MEMORY } from '../cluster/columns.ts';
import type { NodeState } from '../cluster/node-state.ts';
import { BEST, type Scorer } from './scorer.ts';

/** The mean of what would be left of processors and memory, each in whole percent. */
export const roomScores: Scorer = ({ pod: { requests } }, passed) =>
  passed.map((node) => {
    const [cpu, memory] = [node.capacity(CPU), node.capacity(MEMORY)];
    const counted = (cpu === 0 ? 0 : 1) + (memory === 0 ? 0 : 1);
    if (counted === 0) return 0;
    const left = leftOf(cpu, node.assumedCpu + requests.assumedCpu) + leftOf(memory, node.assumedMemory + requests.assumedMemory);
    return Math.floor(left / counted);
  });

function leftOf(capacity: number, taken: number): number {
  return capacity === 0 || taken > capacity ? 0 : Math.floor(((capacity - taken) * BEST) / capacity);
}

/** How close the used shares of processors and memory are to each other with the pod. */
export const balanceScores: Scorer = ({ pod: { requests } }, passed, { rules }) => {
  const [cpu, memory] = [requests.all.get('cpu') ?? 0, requests.all.get('memory') ?? 0];
  if (cpu === 0 && memory === 0) return null;
  if (!rules.balanceComparesBefore) return passed.map((node) => balance(node, cpu, memory));
  return passed.map((node) => Math.trunc(BEST / 2) + Math.trunc((BEST / 2 + balance(node, cpu, memory) - balance(node, 0, 0)) / 2));
};

function balance(node: NodeState, cpu: number, memory: number): number {
  const [processors, bytes] = [node.capacity(CPU), node.capacity(MEMORY)];
  // One resource alone is always in balance.
  if (processors === 0 || bytes === 0) return BEST;
  const ofCpu = Math.min(1, (node.usage(CPU) + cpu) / processors);
  const ofMemory = Math.min(1, (node.usage(MEMORY) + memory) / bytes);
  return Math.trunc((1 - Math.abs((ofCpu - ofMemory) / 2)) * BEST);
}
