import type { EvictionLine } from './eviction-line.ts';

/** What `statfs` says about the room on a file system. */
export interface SpaceFacts {
  readonly totalBytes: number;
  /** Free, including what is reserved for root. Never use it to decide. */
  readonly freeBytes: number;
  /** Free for everybody. */
  readonly availableBytes: number;
  /** 0 where the file system makes inodes as it needs them. */
  readonly totalInodes: number;
  readonly freeInodes: number;
  /** What a file is rounded up to. */
  readonly blockBytes: number;
}

/** The pod's limit for what it keeps on the node's disk, and how much of it is known to be used. */
export interface EphemeralStorage {
  readonly limitBytes: number;
  readonly usedBytes: number;
}

export interface Limits {
  readonly evictionLine: EvictionLine | null;
  readonly ephemeral: EphemeralStorage | null;
}

/** What is nearest. */
export type LimitName = 'disk' | 'eviction-line' | 'ephemeral-limit' | 'inodes';

export interface Room {
  /** Bytes that can be written before the nearest limit; negative when it is crossed already. */
  readonly bytes: number;
  readonly limitedBy: Exclude<LimitName, 'inodes'>;
  /** Files that can be made before the nearest limit; Infinity where they are not counted. */
  readonly files: number;
}

/** The room that counts: down to the eviction line and within the pod's limit, not down to the last block. */
export function roomOf(space: SpaceFacts, { evictionLine, ephemeral }: Limits): Room {
  let bytes = space.availableBytes;
  let limitedBy: Room['limitedBy'] = 'disk';
  if (evictionLine !== null && evictionLine.bytes > 0) {
    bytes -= evictionLine.bytes;
    limitedBy = 'eviction-line';
  }
  if (ephemeral !== null && ephemeral.limitBytes - ephemeral.usedBytes < bytes) {
    bytes = ephemeral.limitBytes - ephemeral.usedBytes;
    limitedBy = 'ephemeral-limit';
  }
  return { bytes, limitedBy, files: space.totalInodes === 0 ? Infinity : space.freeInodes - (evictionLine?.inodes ?? 0) };
}
