import { excerpt, printable } from '../../core/printable.ts';
import { chunkList } from '../dcp/chunks.ts';
import { chunkFault, PairBudget } from '../dcp/tiling.ts';
import type { Findings } from '../reading/findings.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { openMember } from '../reading/open-member.ts';
import { noteManifest, RankCounters } from './snapshot-content.ts';
import { openLocation, partsByLocation } from './locations.ts';
import { parseManifest, type SnapshotManifest } from './snapshot-manifest.ts';
import { inspectParts } from './parts.ts';
import type { DirectoryFormat } from '../reading/format.ts';

const METADATA = '.snapshot_metadata';
const FOLDER = /^(\d+|replicated|sharded|batched)$/;

/** A directory of TorchSnapshot: files of raw tensors, and a manifest that is written last. */
export const torchsnapshot: DirectoryFormat = {
  id: 'torchsnapshot',
  title: 'TorchSnapshot',
  claims(directory) {
    return directory.has(METADATA) || looksUncommitted(directory);
  },
  inspect,
};

/** Without its manifest a snapshot shows by its folders alone. */
function looksUncommitted(directory: Directory): boolean {
  const names = [...directory.entries.keys()];
  return names.some((name) => /^(replicated|sharded|batched)$/.test(name)) && names.every((name) => FOLDER.test(name));
}

function inspect(directory: Directory, findings: Findings): void {
  const file = directory.pathOf(METADATA);
  if (!directory.has(METADATA)) {
    findings.add(
      'TORCHSNAPSHOT_NO_METADATA',
      { file },
      `${printable(file)}, which is written last, is missing: the snapshot was never committed`,
    );
    return;
  }
  const manifest = readManifest(directory, findings);
  if (manifest === null) return;
  noteManifest(manifest, file, findings);
  const budget = new PairBudget();
  for (const [path, { shape, chunks }] of manifest.chunked) {
    const fault = chunkFault(shape, chunkList(chunks), budget);
    if (fault === null) continue;
    const message = `${excerpt(path)} is not made up of its chunks: ${excerpt(fault, 120)}`;
    findings.add('TORCHSNAPSHOT_CHUNKS', { file, expected: `[${excerpt(shape.join(', '))}]`, found: excerpt(fault, 120) }, message);
  }
  inspectFiles(directory, manifest, findings);
  reportLeftovers(directory, manifest, findings);
}

function readManifest(directory: Directory, findings: Findings): SnapshotManifest | null {
  const source = openMember(directory, METADATA, findings);
  if (source === null) return null;
  const file = source.file;
  if (source.size === 0) {
    findings.add('FILE_EMPTY', { file }, `${printable(file)} has no bytes, so nothing says what the snapshot holds`);
    return null;
  }
  if (source.size > LIMITS.documentBytes) {
    findings.add('LIMIT_EXCEEDED', { file }, `${printable(file)} has ${source.size} bytes; at most ${LIMITS.documentBytes} are read`);
    return null;
  }
  const read = parseManifest(source.read(0, source.size).toString('utf8'));
  if ('manifest' in read) return read.manifest;
  const reason = excerpt(read.reason, 160);
  findings.add(read.limit ? 'LIMIT_EXCEEDED' : 'DOCUMENT_INVALID', { file, found: reason }, `${printable(file)} cannot be used: ${reason}`);
  return null;
}

function inspectFiles(directory: Directory, manifest: SnapshotManifest, findings: Findings): void {
  const counters = new RankCounters();
  for (const [location, parts] of partsByLocation(manifest.parts)) {
    const source = openLocation(directory, location, findings);
    if (source === null) continue;
    inspectParts(source, parts, findings);
    for (const part of parts) counters.note(source, part);
  }
  counters.report(findings);
}

/** Folders of ranks, and batches, that the manifest does not speak of. */
function reportLeftovers(directory: Directory, manifest: SnapshotManifest, findings: Findings): void {
  const used = new Set(manifest.parts.map(({ location }) => location));
  const ranks = new Set(manifest.paths.map((path) => path.split('/', 1)[0]));
  for (const { name, kind } of directory.entries.values()) {
    if (kind === 'directory' && /^\d+$/.test(name) && !ranks.has(name)) reportLeftover(directory.pathOf(name), findings);
  }
  const batches = directory.directory('batched');
  for (const name of batches?.entries.keys() ?? []) {
    if (!used.has(`batched/${name}`)) reportLeftover(batches?.pathOf(name) ?? name, findings);
  }
}

function reportLeftover(file: string, findings: Findings): void {
  findings.add('TORCHSNAPSHOT_UNREFERENCED', { file }, `${printable(file)} is not used by the manifest: an earlier snapshot left it`);
}
