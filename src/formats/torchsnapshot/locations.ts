import { excerpt, printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { openMember } from '../reading/open-member.ts';
import type { StoredPart } from './snapshot-manifest.ts';

const MOST_FOLDERS = 64;
/** Longer than any path. */
const LONGEST_LOCATION = 4096;

/** A file of the snapshot: the folder it lies in and its name. */
interface Location {
  readonly folder: Directory;
  readonly name: string;
}

/**
 * Follows a location (`0/optimizer/state/0/exp_avg`) through the folders of the snapshot, never out
 * of them.
 */
function locate(root: Directory, location: string, findings: Findings): Location | null {
  const parts = location.length > LONGEST_LOCATION ? [] : location.split('/');
  const name = parts.pop() ?? '';
  if (parts.length > MOST_FOLDERS || [...parts, name].some((part) => part === '' || part === '.' || part === '..')) {
    const where = { file: null, found: excerpt(location) };
    findings.add(
      'TORCHSNAPSHOT_LOCATION',
      where,
      `the manifest places data at ${excerpt(location)}, which is no place inside the snapshot`,
    );
    return null;
  }
  let folder: Directory | null = root;
  for (const part of parts) folder = folder?.directory(part) ?? null;
  if (folder !== null) return { folder, name };
  const file = root.pathOf(location);
  findings.add('FILE_MISSING', { file }, `${printable(file)} is missing: its folder is not there`);
  return null;
}

/** Opens the file of parts that all lie at the same location. */
export function openLocation(root: Directory, location: string, findings: Findings): ByteSource | null {
  const place = locate(root, location, findings);
  return place === null ? null : openMember(place.folder, place.name, findings);
}

/**
 * Parts by location, each place in a file once: replicated tensors are listed for several ranks.
 */
export function partsByLocation(parts: readonly StoredPart[]): ReadonlyMap<string, readonly StoredPart[]> {
  const locations = new Map<string, Map<string, StoredPart>>();
  for (const part of parts) {
    const places = locations.get(part.location) ?? new Map<string, StoredPart>();
    locations.set(part.location, places);
    const key = part.range?.join() ?? '';
    if (!places.has(key)) places.set(key, part);
  }
  return new Map([...locations].map(([location, places]) => [location, [...places.values()]]));
}
