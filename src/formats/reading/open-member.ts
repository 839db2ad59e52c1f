import type { Findings } from './findings.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { SourceError } from '../../bytes/source/source-error.ts';

/**
 * Opens a file of a checkpoint; where that is impossible the reason becomes evidence, and the other
 * members can still be read.
 */
export function openMember(directory: Directory, name: string, findings: Findings): ByteSource | null {
  try {
    return directory.open(name);
  } catch (thrown) {
    if (!(thrown instanceof SourceError)) throw thrown;
    findings.add(thrown.evidence, { file: thrown.file }, thrown.message);
    return null;
  }
}
