import type { ByteSource } from '../../../bytes/source/byte-source.ts';
import { Findings } from '../../reading/findings.ts';
import { readDirectory } from './central-directory.ts';
import { readEnd } from './end-records.ts';

/** How many entry names are enough to identify the kind of an archive. */
const ENTRIES = 1000;

/**
 * Returns the first names in the directory of an archive, which identify its kind; none when the
 * directory is unreadable.
 */
export function directoryNames(source: ByteSource): readonly string[] {
  const reading = { source, findings: new Findings() };
  const place = readEnd(reading);
  if (place === null) return [];
  return readDirectory(reading, place, ENTRIES).entries.map(({ name }) => name);
}
