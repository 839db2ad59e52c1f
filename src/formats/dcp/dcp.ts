import { printable } from '../../core/printable.ts';
import { inspectHfShards, HF_RANK_SHARD } from './hf-shards.ts';
import { type DcpListener, type DcpOptions, inspectDcpMetadata } from './inspect.ts';
import { reportUnreferenced } from './shard-files.ts';
import { Findings } from '../reading/findings.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { openMember } from '../reading/open-member.ts';
import type { DirectoryFormat } from '../reading/format.ts';

const METADATA = '.metadata';
const SHARD = /^__(\d+)_\d+\.distcp$/;
const RANK_METADATA = /^__(\d+)\.metadata$/;

/**
 * The reader of `torch.distributed.checkpoint` directories: shards of all ranks, and a metadata
 * file that is written last.
 */
export const dcp: DirectoryFormat = {
  id: 'dcp',
  title: 'PyTorch distributed checkpoint',
  claims(directory) {
    return holdsShards(directory) || (directory.has(METADATA) && isDcpMetadata(directory));
  },
  inspect(directory, findings) {
    inspectDcp(directory, findings);
  },
};

/**
 * Returns true when the folder has shard files, with or without the metadata that completes the
 * checkpoint.
 */
export function holdsShards(directory: Directory): boolean {
  for (const name of directory.entries.keys()) {
    if (SHARD.test(name) || RANK_METADATA.test(name) || HF_RANK_SHARD.test(name)) return true;
  }
  return false;
}

/**
 * Checks the class at the start of a lone `.metadata`, because other programs use that file name
 * too.
 */
function isDcpMetadata(directory: Directory): boolean {
  const source = openMember(directory, METADATA, new Findings());
  return source?.read(0, 256).includes('torch.distributed.checkpoint.metadata') ?? false;
}

/**
 * Inspects the distributed checkpoint in a folder. It may be the whole folder or part of a larger
 * checkpoint.
 */
export function inspectDcp(directory: Directory, findings: Findings, listener: DcpListener = {}): void {
  noteWorldSize(directory, findings);
  if (directory.has(METADATA)) {
    const part = inspectDcpMetadata(directory, METADATA, findings, { scope: 'global', ...listener });
    if (part !== null) reportUnreferenced(directory, part.files, findings);
    return;
  }
  const ranks = directory.files(RANK_METADATA).map(({ name }) => name);
  if (ranks.length > 0) inspectRanks(directory, ranks, findings, { scope: 'rank', ...listener });
  else if (directory.files(HF_RANK_SHARD).length > 0) inspectHfShards(directory, findings);
  else {
    const message = 'the shard files were never committed: .metadata, which is written last, is not there';
    findings.add('DCP_NO_METADATA', { file: directory.pathOf(METADATA) }, message);
  }
}

/**
 * Inspects a save without coordination. Every rank vouches for its own shards; ranks run from 0
 * without gaps.
 */
function inspectRanks(directory: Directory, names: readonly string[], findings: Findings, options: DcpOptions): void {
  const used = new Set<string>();
  const present = new Set<number>();
  for (const name of names) {
    present.add(Number(RANK_METADATA.exec(name)?.[1]));
    const part = inspectDcpMetadata(directory, name, findings, options);
    for (const file of part?.files ?? []) used.add(file);
  }
  for (const rank of expectedRanks(directory, present)) {
    if (present.has(rank)) continue;
    const name = `__${rank}.metadata`;
    const message = `${printable(directory.pathOf(name))} is missing: the save of rank ${rank} did not finish`;
    findings.add('DCP_RANK_MISSING', { file: directory.pathOf(name) }, message);
  }
  reportUnreferenced(directory, used, findings);
}

/**
 * Returns the ranks that must exist: every rank with a shard, and the gaps in the numbering. The
 * result is at most twice as long as the input, however large the numbers are.
 */
function expectedRanks(directory: Directory, present: ReadonlySet<number>): Iterable<number> {
  const expected = new Set(directory.files(SHARD).map(({ name }) => Number(SHARD.exec(name)?.[1])));
  const highest = Math.min(highestOf(present), present.size * 2);
  for (let rank = 0; rank < highest; rank++) expected.add(rank);
  return expected;
}

function noteWorldSize(directory: Directory, findings: Findings): void {
  let highest = -1;
  for (const { name, kind } of directory.entries.values()) {
    if (kind === 'file' && name.endsWith('.distcp')) highest = Math.max(highest, Number(SHARD.exec(name)?.[1] ?? -1));
  }
  if (highest >= 0) findings.content.worldSize ??= highest + 1;
}

function highestOf(numbers: Iterable<number>): number {
  let highest = -1;
  for (const number of numbers) highest = Math.max(highest, number);
  return highest;
}
