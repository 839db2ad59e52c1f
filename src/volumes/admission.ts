import { formatBytes } from '../core/bytes.ts';
import type { EphemeralStorage, LimitName, SpaceFacts } from './space.ts';
import { roomOf } from './space.ts';
import type { EvictionLine } from './eviction-line.ts';

/** The facts behind the decision. */
export interface SaveDemand {
  /** The user of the room, for people; a save by default. */
  readonly what?: string;
  /** Bytes that the save will write: from the last save or an option. */
  readonly bytesNeeded: number;
  /** Files and folders that it will make. */
  readonly filesNeeded: number;
  readonly space: SpaceFacts;
  readonly evictionLine: EvictionLine | null;
  readonly ephemeralLimit: EphemeralStorage | null;
  /** The releasable room: what retention would allow to delete. */
  readonly reclaimable: { readonly bytes: number; readonly files: number };
}

interface Numbers {
  /** The size of the save, rounded up to blocks. */
  readonly demandBytes: number;
  readonly roomBytes: number;
  readonly limitedBy: LimitName;
}

/** Whether a save fits, with the numbers. */
export type Admission =
  | ({ readonly kind: 'fits' } & Numbers)
  /** The save fits after the release of at least these. */
  | ({ readonly kind: 'fits-after-release'; readonly releaseBytes: number; readonly releaseFiles: number } & Numbers)
  /** The missing room after every allowed release, and a sentence with the numbers. */
  | ({ readonly kind: 'refused'; readonly missingBytes: number; readonly missingFiles: number; readonly message: string } & Numbers);

/**
 * Whether a save may start. The eviction line counts as full: crossing it ends the pod long before
 * the disk is full.
 */
export function admitSave(demand: SaveDemand): Admission {
  const { bytesNeeded, filesNeeded, space, reclaimable } = demand;
  const room = roomOf(space, { evictionLine: demand.evictionLine, ephemeral: demand.ephemeralLimit });
  // The last block of every file is rarely full.
  const demandBytes = bytesNeeded + filesNeeded * space.blockBytes;
  const shortBytes = Math.max(0, demandBytes - room.bytes);
  const shortFiles = Math.max(0, filesNeeded - room.files);
  const numbers: Numbers = {
    demandBytes,
    roomBytes: Math.max(0, room.bytes),
    limitedBy: shortBytes === 0 && shortFiles > 0 ? 'inodes' : room.limitedBy,
  };
  if (shortBytes === 0 && shortFiles === 0) return { kind: 'fits', ...numbers };
  const missingBytes = Math.max(0, shortBytes - reclaimable.bytes);
  const missingFiles = Math.max(0, shortFiles - reclaimable.files);
  if (missingBytes === 0 && missingFiles === 0) {
    return { kind: 'fits-after-release', releaseBytes: shortBytes, releaseFiles: shortFiles, ...numbers };
  }
  return { kind: 'refused', missingBytes, missingFiles, message: refusal(demand, numbers, { missingBytes, missingFiles }), ...numbers };
}

function refusal(demand: SaveDemand, { demandBytes, roomBytes }: Numbers, missing: { missingBytes: number; missingFiles: number }): string {
  const { what = 'the save', reclaimable, filesNeeded } = demand;
  const release = reclaimable.bytes > 0 ? `, and releasing what retention allows gives ${formatBytes(reclaimable.bytes)} more` : '';
  if (missing.missingBytes === 0) {
    return `${what} makes ${filesNeeded} files, ${missing.missingFiles} more than there are inodes for${release}`;
  }
  return `${what} needs ${formatBytes(demandBytes)}, but there are ${formatBytes(roomBytes)} ${limitText(demand)}${release}: ${formatBytes(missing.missingBytes)} are missing`;
}

function limitText({ space, evictionLine, ephemeralLimit }: SaveDemand): string {
  const { limitedBy } = roomOf(space, { evictionLine, ephemeral: ephemeralLimit });
  switch (limitedBy) {
    case 'disk':
      return `free of ${formatBytes(space.totalBytes)}`;
    case 'eviction-line':
      return `free above the eviction line (${evictionLine?.text ?? ''} of ${formatBytes(space.totalBytes)}; ${formatBytes(space.availableBytes)} free in all)`;
    case 'ephemeral-limit':
      return `left of the pod's ephemeral-storage limit of ${formatBytes(ephemeralLimit?.limitBytes ?? 0)}`;
  }
}
