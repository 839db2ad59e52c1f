import type { Directory, Entry } from '../../bytes/source/directory.ts';
import { naturalOrder } from '../../bytes/source/natural-order.ts';

/**
 * Everything of a matching name that is no folder, in natural order. Unlike `Directory.files` it
 * also gives broken links, pipes and the like: where a member of the checkpoint should be, reading
 * it tells what is wrong.
 */
export function membersNamed(directory: Directory, pattern: RegExp): readonly Entry[] {
  const members: Entry[] = [];
  for (const entry of directory.entries.values()) if (pattern.test(entry.name) && entry.kind !== 'directory') members.push(entry);
  return members.sort((a, b) => naturalOrder(a.name, b.name));
}

/** The folders inside. */
export function folders(directory: Directory): readonly Directory[] {
  const inside: Directory[] = [];
  for (const { name, kind } of directory.entries.values()) {
    const folder = kind === 'directory' ? directory.directory(name) : null;
    if (folder !== null) inside.push(folder);
  }
  return inside;
}
