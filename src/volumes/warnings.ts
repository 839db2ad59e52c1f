import { formatBytes } from '../core/bytes.ts';
import type { CommitRule } from './commit-rule.ts';
import type { EvictionLine } from './eviction-line.ts';
import type { PlaceId } from './place.ts';
import type { Room } from './space.ts';
import type { Storage } from './storage.ts';

/** Something a person must know before trusting a path with a run. The code is stable. */
export interface StorageWarning {
  readonly code: WarningCode;
  /** `loud`: ignoring it loses checkpoints. */
  readonly level: 'loud' | 'note';
  readonly message: string;
}

/** The code of a warning about a volume. */
export type WarningCode =
  | 'DIES_WITH_POD'
  | 'ONLY_ON_THIS_NODE'
  | 'NOT_DURABLE'
  | 'NO_COMMIT'
  | 'MANIFEST_LAST'
  | 'BELOW_EVICTION_LINE'
  | 'NO_ROOM'
  | 'SPACE_NOT_KNOWN'
  | 'MOUNT_OPTION'
  | 'LEFT_BEHIND';

/** What the warnings are decided from. */
export interface WarningFacts {
  readonly storage: Storage;
  readonly commit: CommitRule;
  readonly room: Room;
  readonly evictionLine: EvictionLine | null;
  /** A folder that was made to try things in and could not be removed again. */
  readonly leftover: string | null;
}

interface OptionRule {
  /** Ids of file systems. */
  readonly of: readonly string[];
  readonly options: readonly string[];
  readonly level: StorageWarning['level'];
  readonly says: string;
}

const OPTION_RULES: readonly OptionRule[] = [
  {
    of: ['ext2', 'ext3', 'ext4', 'xfs', 'btrfs'],
    options: ['nobarrier', 'barrier=0'],
    level: 'loud',
    says: 'a sync does not reach beyond the cache of the disk, so a power cut may lose what was synced',
  },
  { of: ['overlay'], options: ['volatile', 'fsync=volatile'], level: 'loud', says: 'a sync does nothing at all' },
  {
    of: ['nfs'],
    options: ['soft', 'softerr'],
    level: 'note',
    says: 'a write fails when the server is silent for a while, instead of waiting for it',
  },
];

/** The warnings about a volume. */
export function storageWarnings(facts: WarningFacts): StorageWarning[] {
  return [...survivalWarnings(facts), ...commitWarnings(facts), ...spaceWarnings(facts), ...leftoverWarnings(facts)];
}

/** What ends with a place where there is no pod that would. */
const DIES_WITH: Readonly<Partial<Record<PlaceId, string>>> = {
  memory: 'the machine or the container',
  'container-layer': 'the container',
};

function survivalWarnings({ storage: { place, fileSystem, mount, isInPod } }: WarningFacts): StorageWarning[] {
  const warnings: StorageWarning[] = [];
  if (place.survivesPod === 'no') {
    const end = (isInPod ? undefined : DIES_WITH[place.id]) ?? 'the pod';
    const message = `Checkpoints here die with ${end}: this is ${place.title}. Save on a persistent volume, or copy every checkpoint away (holdfast ship, run --ship).`;
    warnings.push({ code: 'DIES_WITH_POD', level: 'loud', message });
  }
  if (place.id === 'node-disk') warnings.push({ code: 'ONLY_ON_THIS_NODE', level: 'note', message: place.why });
  if (fileSystem.powerLoss === 'lost') {
    warnings.push({ code: 'NOT_DURABLE', level: 'loud', message: `${fileSystem.title} keeps nothing across a power cut or a reboot.` });
  }
  const options = new Set([...(mount?.options ?? []), ...(mount?.superOptions ?? [])]);
  for (const rule of OPTION_RULES) {
    const found = rule.of.includes(fileSystem.id) ? rule.options.find((option) => options.has(option)) : undefined;
    if (found !== undefined) warnings.push({ code: 'MOUNT_OPTION', level: rule.level, message: `Mounted with "${found}": ${rule.says}.` });
  }
  return warnings;
}

function leftoverWarnings({ leftover }: WarningFacts): StorageWarning[] {
  if (leftover === null) return [];
  const message = `${leftover} could not be removed: this storage allows no deletion, so old checkpoints cannot be deleted either.`;
  return [{ code: 'LEFT_BEHIND', level: 'note', message }];
}

function commitWarnings({ commit: { protocol, reason, wayOut } }: WarningFacts): StorageWarning[] {
  if (protocol === 'rename') return [];
  const message = wayOut === null ? reason : `${reason} ${wayOut}`;
  return protocol === 'refuse' ? [{ code: 'NO_COMMIT', level: 'loud', message }] : [{ code: 'MANIFEST_LAST', level: 'loud', message }];
}

function spaceWarnings({ storage: { fileSystem, space }, room, evictionLine }: WarningFacts): StorageWarning[] {
  if (!fileSystem.hasRealSpace) {
    const message = 'A bucket reports no real free space, so Holdfast cannot tell beforehand whether a save fits.';
    return [{ code: 'SPACE_NOT_KNOWN', level: 'note', message }];
  }
  if (room.bytes > 0 && room.files > 0) return [];
  if (evictionLine !== null && room.limitedBy === 'eviction-line') {
    const message =
      `${formatBytes(space.availableBytes)} are free, which is below the eviction line (${evictionLine.text}, ${formatBytes(evictionLine.bytes)}): ` +
      'the kubelet evicts pods from this node. No save may start.';
    return [{ code: 'BELOW_EVICTION_LINE', level: 'loud', message }];
  }
  const what = room.bytes > 0 ? 'No inodes are' : 'No room is';
  return [{ code: 'NO_ROOM', level: 'loud', message: `${what} left (${room.limitedBy}): no save may start.` }];
}
