import { excerpt, printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { reportPickle } from '../encodings/pickle/report-walk.ts';
import { walkPickle } from '../encodings/pickle/walk.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { openMember } from '../reading/open-member.ts';
import { readDcpMetadata } from './metadata.ts';
import type { DcpMetadata } from './dcp-metadata.ts';
import { MetadataStream } from './metadata-stream.ts';

/** Reads a `.metadata` file; returns null, with evidence, when it is unusable. */
export function openDcpMetadata(directory: Directory, name: string, findings: Findings): DcpMetadata | null {
  const source = openMember(directory, name, findings);
  if (source === null) return null;
  const file = printable(source.file);
  if (source.size === 0) {
    findings.add('DCP_METADATA_EMPTY', { file: source.file }, `${file} has no bytes, so nothing says what the shards hold`);
    return null;
  }
  const stream = new MetadataStream();
  const result = walkPickle(source, { consumer: stream });
  reportPickle(result, source, findings);
  if (result.value === undefined) return null;
  const trailing = source.size - (result.end ?? source.size);
  if (trailing > 0) {
    findings.add(
      'PICKLE_TRAILING',
      { file: source.file, offset: result.end ?? 0 },
      `${trailing} bytes follow the end of the pickle ${file}`,
    );
  }
  const metadata = readDcpMetadata(result.value, stream);
  if (!('misshapen' in metadata)) return metadata;
  findings.add(
    metadata.limit ? 'LIMIT_EXCEEDED' : 'DCP_METADATA_SHAPE',
    { file: source.file, found: excerpt(metadata.misshapen, 120) },
    `${file} holds ${excerpt(metadata.misshapen, 120)}`,
  );
  return null;
}
