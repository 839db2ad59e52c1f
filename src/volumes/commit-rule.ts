import type { Capabilities } from './capabilities.ts';
import type { FileSystem } from './file-systems.ts';

/**
 * How a checkpoint becomes visible.
 *
 * By the rename of its finished folder; by its manifest as the last file, which suits copies of
 * finished checkpoints but fences no second writer; or not at all.
 */
export type Protocol = 'rename' | 'manifest-last' | 'refuse';

/** How a save is committed on a volume, and why so. */
export interface CommitRule {
  readonly protocol: Protocol;
  readonly reason: string;
  /** The advice; null if none is needed. */
  readonly wayOut: string | null;
}

/** What the rule of commit is decided from. */
export interface CommitFacts {
  readonly fileSystem: FileSystem;
  readonly isReadOnly: boolean;
  /** The results of attempts there; null without any. */
  readonly capabilities: Capabilities | null;
}

const PLACES = 'Save on a disk, a persistent volume or a network file system';
const ELSEWHERE = `${PLACES}, and copy finished checkpoints here.`;
const SHIP = `${PLACES}, and copy finished checkpoints to the bucket with holdfast ship.`;

/**
 * The protocol for a path: the table's rule for its file system, lowered after failed attempts.
 * Never raised: a rename that worked once may still be a copy.
 */
export function commitRule({ fileSystem, isReadOnly, capabilities }: CommitFacts): CommitRule {
  if (isReadOnly || fileSystem.home === 'image') {
    return { protocol: 'refuse', reason: 'It is mounted read-only.', wayOut: 'Mount it for writing, or choose another path.' };
  }
  return (capabilities === null ? null : lowered(capabilities)) ?? byTable(fileSystem);
}

function byTable({ rename, title, home }: FileSystem): CommitRule {
  const wayOut = home === 'object-store' ? SHIP : ELSEWHERE;
  switch (rename) {
    case 'atomic':
      return { protocol: 'rename', reason: `On ${title} a folder is renamed in one step.`, wayOut: null };
    case 'not-crash-safe':
      return { protocol: 'manifest-last', reason: `On ${title} a power cut may tear a rename apart.`, wayOut };
    case 'copies':
      return { protocol: 'manifest-last', reason: `On ${title} a folder is renamed by copying: others see half of it.`, wayOut };
    case 'unknown':
      return { protocol: 'manifest-last', reason: `It is unknown whether ${title} renames a folder in one step.`, wayOut };
    case 'refused':
      return {
        protocol: 'refuse',
        reason: `${title} renames and replaces nothing, so neither a commit nor a fence against a second writer is possible.`,
        wayOut,
      };
  }
}

/** The rule after a failed attempt; null if every attempt worked. */
function lowered(tried: Capabilities): CommitRule | null {
  const failed = (name: keyof Capabilities): boolean => tried[name].outcome !== 'works';
  const why = (name: keyof Capabilities): string => tried[name].detail ?? tried[name].outcome;
  if (failed('write'))
    return refusal(
      `Nothing can be written here (${why('write')}).`,
      'Give this user the right to write and make room, or choose another path.',
    );
  if (failed('syncFile')) return refusal(`Files cannot be synced here (${why('syncFile')}), so nothing can be made durable.`, ELSEWHERE);
  if (failed('createExclusively')) {
    return refusal(
      `Creating a file exclusively does not work here (${why('createExclusively')}), so two writers cannot be told apart.`,
      ELSEWHERE,
    );
  }
  if (failed('renameFolder')) {
    return { protocol: 'manifest-last', reason: `A folder cannot be renamed here (${why('renameFolder')}).`, wayOut: ELSEWHERE };
  }
  if (failed('syncFolder')) {
    return {
      protocol: 'manifest-last',
      reason: `A folder cannot be synced here (${why('syncFolder')}), so a rename may be lost.`,
      wayOut: ELSEWHERE,
    };
  }
  return null;
}

function refusal(reason: string, wayOut: string): CommitRule {
  return { protocol: 'refuse', reason, wayOut };
}
