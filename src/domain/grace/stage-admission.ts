import { formatBytes } from '../../core/bytes.ts';

/** The facts that decide whether a save goes to memory first. */
export interface StageFacts {
  /** Bytes of the last save; null: none was ever made. */
  readonly lastBytes: number | null;
  /** Bytes that the ranks keep in memory from save to save and reuse. */
  readonly keptBytes: number;
  /**
   * Free bytes of the file system in memory, and whether other programs there fail when it is full.
   */
  readonly freeBytes: number;
  readonly isShared: boolean;
  /**
   * The memory limit of the container, or its request if that is known and lower, and its working
   * set. Null: no limit. Staged bytes count against it.
   */
  readonly container: { readonly limitBytes: number; readonly usedBytes: number; readonly isRequest: boolean } | null;
  /** The memory that the machine can still give; null: unknown. */
  readonly availableBytes: number | null;
  /** The trainer's peak memory minus its current memory: it will need that much again. */
  readonly riseBytes: number;
}

/** Whether the save may go to memory, or why it may not. */
export type StageAdmission =
  | { readonly isAdmitted: true }
  /** `why` names the bound, so that the caller can warn about each bound once. */
  | { readonly isAdmitted: false; readonly why: 'unmeasured' | 'room' | 'container' | 'machine'; readonly reason: string };

/** Checkpoints grow: the step count, a longer log, one more trained layer. */
const MARGIN = 1.25;
/** In a shared place, this much stays free for others. */
const SHARE = 0.5;

/**
 * Decides whether a save fits into memory beside the trainer. If it does not, the save goes
 * directly to its final place.
 */
export function admitStage(facts: StageFacts): StageAdmission {
  const { lastBytes, keptBytes, freeBytes, isShared, container, availableBytes, riseBytes } = facts;
  if (lastBytes === null) return { isAdmitted: false, why: 'unmeasured', reason: 'no save has shown yet how large one is' };
  const need = Math.max(0, Math.ceil(lastBytes * MARGIN) - keptBytes);
  const room = Math.floor(freeBytes * (isShared ? SHARE : 1));
  const reason = (where: string, left: number): string =>
    `a save needs ${formatBytes(need)}, and ${formatBytes(Math.max(0, left))} are left ${where}`;
  if (need > room) return { isAdmitted: false, why: 'room', reason: reason('for it in memory', room) };
  if (container !== null) {
    const left = container.limitBytes - container.usedBytes - riseBytes;
    const bound = container.isRequest ? 'the memory request' : 'the limit';
    if (need > left)
      return { isAdmitted: false, why: 'container', reason: reason(`below ${bound} of the container at the trainer’s peak`, left) };
  }
  if (availableBytes !== null && need > availableBytes - riseBytes)
    return { isAdmitted: false, why: 'machine', reason: reason('on the machine at the trainer’s peak', availableBytes - riseBytes) };
  return { isAdmitted: true };
}
