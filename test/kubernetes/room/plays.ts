import type { Gang } from './gangs.ts';

/** Gangs that fill the cluster when the inference pod comes. */
export interface Play {
  /** A sentence about the gangs, above their table. */
  readonly about: string;
  /**
   * The last one starts last: its pods are of the same priority as the others, so that the
   * scheduler evicts them.
   */
  readonly gangs: readonly Gang[];
}

/** It saves at its first step only. */
const ONCE = 100_000;
/**
 * A save that takes longer than the grace of the pods: a kill loses what is unsaved, unless the
 * gang was asked before. A minute after a save, its supervisor may ask for the next one.
 */
const [LONG_SAVE, LONGER_SAVE, LONGEST_SAVE, MOST_UNSAVED] = [4, 16, 20, 40] as const;

export const PLAYS: readonly Play[] = [
  {
    about:
      'Three gangs of one pod. The one that started last has the most unsaved work and the longest save, so that it is the dearest in both ways.',
    gangs: [
      { name: 'quick', nodes: ['node-1'], saveSeconds: 1, every: 20, leastUnsaved: 5 },
      { name: 'middle', nodes: ['node-2'], saveSeconds: LONG_SAVE, every: 40, leastUnsaved: 20 },
      { name: 'slow', nodes: ['node-3'], saveSeconds: LONGER_SAVE, every: ONCE, leastUnsaved: MOST_UNSAVED },
    ],
  },
  {
    about:
      'Two gangs of one pod, and one of two pods that started last. The pod needs the node of one of them, but all of the gang stops. Its save is so short that it loses least, although it has eight GPUs.',
    gangs: [
      { name: 'slow', nodes: ['node-3'], saveSeconds: LONGER_SAVE, every: 20, leastUnsaved: 5 },
      { name: 'slower', nodes: ['node-4'], saveSeconds: LONGEST_SAVE, every: 40, leastUnsaved: 20 },
      { name: 'pair', nodes: ['node-1', 'node-2'], saveSeconds: LONG_SAVE, every: ONCE, leastUnsaved: MOST_UNSAVED },
    ],
  },
];
