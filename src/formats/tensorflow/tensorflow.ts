import { printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { inspectBundle } from './inspect-bundle.ts';
import { endsLikeTable } from './sorted-table.ts';
import type { FileSet, FileSetFormat } from '../reading/format.ts';

const INDEX = /^(.+)\.index$/s;
const DATA = /^(.+)\.data-(\d{5})-of-(\d{5})$/s;
const UNFINISHED = /^(.+)\.(?:index|data-\d{5}-of-\d{5})\.tempstate\d+$/s;

const TEMPORARY_FOLDER = /_temp(_[0-9a-f]+)?$/;

/**
 * TensorFlow's checkpoints: `NAME.index`, which describes the tensors, and
 * `NAME.data-0000i-of-0000n`, which hold them.
 */
export const tensorflow: FileSetFormat = {
  id: 'tensorflow',
  title: 'TensorFlow checkpoint',

  claim(directory) {
    const sets = new Map<string, string[]>();
    for (const { name } of directory.files(DATA)) addMember(sets, DATA.exec(name)?.[1], name);
    for (const { name } of directory.files(INDEX)) {
      const stem = INDEX.exec(name)?.[1] ?? '';
      if (sets.has(stem) || endsLikeTable(directory.open(name))) addMember(sets, stem, name);
    }
    return [...sets].map(([name, members]) => ({ name, members }));
  },

  inspect(set, directory, findings) {
    const indexName = `${set.name}.index`;
    reportUnfinished(set, directory, findings);
    if (TEMPORARY_FOLDER.test(directory.name)) {
      const message = `${printable(set.name)} lies in ${printable(directory.name)}, where TensorFlow keeps a save until it is finished`;
      findings.add('TENSORFLOW_UNFINISHED', { file: directory.path }, message);
      return;
    }
    if (!directory.has(indexName)) {
      const file = directory.pathOf(indexName);
      const message = `${printable(file)} is missing, so it is unknown what the data files of ${printable(set.name)} hold`;
      findings.add('FILE_MISSING', { file }, message);
      return;
    }
    const open = (shard: number, shards: number) => openShard(set, directory, findings, { shard, shards });
    const header = inspectBundle(directory.open(indexName), open, findings);
    if (header !== null && header.shards > 0) reportCounts(set, directory, findings, header.shards);
  },
};

function addMember(sets: Map<string, string[]>, set: string | undefined, member: string): void {
  if (set === undefined) return;
  const members = sets.get(set);
  if (members === undefined) sets.set(set, [member]);
  else members.push(member);
}

function openShard(set: FileSet, directory: Directory, findings: Findings, of: { shard: number; shards: number }): ByteSource | null {
  const name = `${set.name}.data-${fiveDigits(of.shard)}-of-${fiveDigits(of.shards)}`;
  if (directory.has(name)) return directory.open(name);
  const file = directory.pathOf(name);
  findings.add('FILE_MISSING', { file }, `${printable(file)} is missing; the index says that tensors lie in it`);
  return null;
}

function fiveDigits(number: number): string {
  return String(number).padStart(5, '0');
}

/** Data files of the same name whose count of shards is not the index's. */
function reportCounts(set: FileSet, directory: Directory, findings: Findings, shards: number): void {
  for (const member of set.members) {
    const count = DATA.exec(member)?.[3];
    if (count === undefined || Number(count) === shards) continue;
    const file = directory.pathOf(member);
    const message = `${printable(file)} is of a save with ${Number(count)} data files, but the index is of one with ${shards}`;
    findings.add('TENSORFLOW_SHARD_COUNT', { file, expected: String(shards), found: String(Number(count)) }, message);
  }
}

/** Where a rename is atomic, files are written under a temporary name beside the final one. */
function reportUnfinished(set: FileSet, directory: Directory, findings: Findings): void {
  for (const name of unfinishedOf(directory).get(set.name) ?? []) {
    const file = directory.pathOf(name);
    findings.add('TEMP_LEFTOVER', { file }, `${printable(file)} is left over from an interrupted save of ${printable(set.name)}`);
  }
}

const unfinished = new WeakMap<Directory, ReadonlyMap<string, readonly string[]>>();

/**
 * The temporary names of a folder by the checkpoint they belong to; found once, whatever number of
 * checkpoints it holds.
 */
function unfinishedOf(directory: Directory): ReadonlyMap<string, readonly string[]> {
  const known = unfinished.get(directory);
  if (known !== undefined) return known;
  const names = directory.files(UNFINISHED).map(({ name }) => name);
  const found = Map.groupBy(names, (name) => UNFINISHED.exec(name)?.[1] ?? '');
  unfinished.set(directory, found);
  return found;
}
