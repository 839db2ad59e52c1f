import { formatBytes } from '../core/bytes.ts';

/** What is known when a save could go to memory first. */
export interface StageFacts {
  /** Of the last save; null: none was ever made. */
  readonly lastBytes: number | null;
  /** What the ranks keep there from save to save, and saves are made of. */
  readonly keptBytes: number;
  /** Free in the file system in memory, and whether others live there whose programs fail when it is full. */
  readonly freeBytes: number;
  readonly isShared: boolean;
  /** The limit of the container, or what it has requested where that is told and less, and its working set; null: no limit. What is staged counts against it. */
  readonly container: { readonly limitBytes: number; readonly usedBytes: number; readonly isRequest: boolean } | null;
  /** What the machine could still give; null: nobody knows. */
  readonly availableBytes: number | null;
  /** How much more the trainer held at its peak than it does now: it will want that again. */
  readonly riseBytes: number;
}

export type StageAdmission =
  | { readonly isAdmitted: true }
  /** `why` names the bound, for telling each but once. */
  | { readonly isAdmitted: false; readonly why: 'unmeasured' | 'room' | 'container' | 'machine'; readonly reason: string };

/** Checkpoints grow: the step count, a longer log, one more layer that is trained. */
const MARGIN = 1.25;
/** Of a place that others use too, so much is left to them. */
const SHARE = 0.5;

/** Whether a save fits into memory beside the trainer. If not it is written where it will stay, as if there were no memory to stage in. */
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
