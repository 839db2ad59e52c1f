import type { EvictionLine } from './eviction-line.ts';

/** What `statfs` says about the room on a file system. */
export interface SpaceFacts {
  readonly totalBytes: number;
  /** Free, including what is reserved for root. Never use it to decide. */
  readonly freeBytes: number;
  /** Free for every user. */
  readonly availableBytes: number;
  /** 0 if the file system makes inodes on demand. */
  readonly totalInodes: number;
  readonly freeInodes: number;
  /** The unit to which files are rounded up. */
  readonly blockBytes: number;
}

/** The pod's limit for its files on the node's disk, and how much of it is known to be used. */
export interface EphemeralStorage {
  readonly limitBytes: number;
  readonly usedBytes: number;
}

/** The limits that apply to the room on a volume. */
export interface Limits {
  readonly evictionLine: EvictionLine | null;
  readonly ephemeral: EphemeralStorage | null;
}

/** The nearest limit. */
export type LimitName = 'disk' | 'eviction-line' | 'ephemeral-limit' | 'inodes';

/** How much room there is, and what bounds it. */
export interface Room {
  /** Bytes up to the nearest limit; negative if it is already crossed. */
  readonly bytes: number;
  readonly limitedBy: Exclude<LimitName, 'inodes'>;
  /** Files up to the nearest limit; Infinity where they are not counted. */
  readonly files: number;
}

/**
 * The usable room: down to the eviction line and within the pod's limit, not down to the last
 * block.
 */
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
