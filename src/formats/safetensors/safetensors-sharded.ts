import { excerpt, printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { readShardIndex } from './shard-index.ts';
import { groupOfIndex, parseShardName } from './shard-names.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import type { FileSet, FileSetFormat, Probe } from '../reading/format.ts';
import { inspectShardIndex } from './safetensors-shards.ts';

/**
 * Weights in several files beside an index, as Hugging Face libraries write them: safetensors, and
 * the older torch files.
 */
export const safetensorsSharded: FileSetFormat = {
  id: 'safetensors-sharded',
  title: 'sharded safetensors or torch weights',
  claim,
  inspect(set, directory, findings, probe) {
    const index = set.members.find((name) => groupOfIndex(name) !== null);
    if (index !== undefined) inspectShardIndex(directory, index, findings, probe);
    else inspectWithoutIndex(set, directory, findings, probe);
  },
};

function claim(directory: Directory): readonly FileSet[] {
  const groups = new Map<string, string[]>();
  for (const { name } of directory.files(/-of-\d{5}\.(safetensors|bin)$/)) {
    const shard = parseShardName(name);
    if (shard === null) continue;
    const members = groups.get(shard.group) ?? [];
    members.push(name);
    groups.set(shard.group, members);
  }
  const sets: FileSet[] = [];
  for (const { name } of directory.files(/\.index(\.[\w-]+)?\.json$/)) {
    const group = groupOfIndex(name);
    if (group === null) continue;
    sets.push({ name, members: [name, ...membersOfIndex(directory, name, groups.get(group) ?? [])] });
    groups.delete(group);
  }
  for (const [group, members] of groups) if (!isSelfContained(members)) sets.push({ name: group, members });
  return sets;
}

/**
 * Returns the existing shards that the index names, and the files that only look like its shards.
 */
function membersOfIndex(directory: Directory, name: string, alike: readonly string[]): readonly string[] {
  const read = readShardIndex(directory, name);
  const named = 'index' in read ? [...read.index.tensors.keys()].filter((file) => directory.has(file)) : [];
  return [...new Set([...named, ...alike])];
}

/**
 * `model-00001-of-00001.safetensors` needs no index, because the file alone describes all tensors.
 */
function isSelfContained(members: readonly string[]): boolean {
  return members.length === 1 && parseShardName(members[0] ?? '')?.total === 1;
}

function inspectWithoutIndex(set: FileSet, directory: Directory, findings: Findings, probe: Probe): void {
  const name = set.name.replace(/\.(safetensors|bin)$/, (extension) => `${extension}.index.json`);
  findings.add(
    'SHARD_INDEX_MISSING',
    { file: directory.pathOf(name) },
    `${set.members.length} shards of ${excerpt(set.name)} are there, their index ${printable(name)} is not`,
  );
  checkNumbering(set, directory, findings);
  for (const member of set.members) findings.merge(probe.inspectFile(directory, member).findings);
}

/** Without an index, only the file names show which shards are expected. */
function checkNumbering(set: FileSet, directory: Directory, findings: Findings): void {
  const shards = set.members.map(parseShardName).filter((shard) => shard !== null);
  const totals = [...new Set(shards.map(({ total }) => total))];
  const [total] = totals;
  if (total === undefined) return;
  if (totals.length > 1) {
    findings.add(
      'SHARD_COUNT',
      { file: null, found: totals.join(', ') },
      `shards of ${excerpt(set.name)} belong to saves of ${totals.join(' and of ')} files, and nothing says which of them count`,
    );
    return;
  }
  const numbers = new Set(shards.map(({ number }) => number));
  for (let number = 1; number <= total; number++) {
    if (numbers.has(number)) continue;
    const missing = set.name.replace(/\.(safetensors|bin)$/, (extension) => `-${five(number)}-of-${five(total)}${extension}`);
    findings.add('FILE_MISSING', { file: directory.pathOf(missing) }, `shard ${number} of ${total}, ${printable(missing)}, is missing`);
  }
}

function five(value: number): string {
  return String(value).padStart(5, '0');
}
