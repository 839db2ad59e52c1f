import type { ByteSource } from '../source/byte-source.ts';
import { Findings } from '../findings.ts';
import { readDirectory } from './directory.ts';
import { readEnd } from './end-records.ts';

/** Entries whose names are enough to tell what an archive is. */
const ENTRIES = 1000;

/** The first names in the directory of an archive, to tell what it is; none when it has no readable directory. */
export function directoryNames(source: ByteSource): readonly string[] {
  const reading = { source, findings: new Findings() };
  const place = readEnd(reading);
  if (place === null) return [];
  return readDirectory(reading, place, ENTRIES).entries.map(({ name }) => name);
}
