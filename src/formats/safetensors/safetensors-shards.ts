import { excerpt, printable } from '../../core/printable.ts';
import { Findings } from '../reading/findings.ts';
import { asDict, dictEntries } from '../encodings/pickle/value.ts';
import { expectShardIndex, type ShardIndex } from './shard-index.ts';
import { groupOfIndex, parseShardName } from './shard-names.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { openMember } from '../reading/open-member.ts';
import type { Probe } from '../reading/format.ts';
import { inspectSafetensors, safetensors } from './safetensors.ts';
import { readObject } from '../torch/torch-member.ts';

/**
 * Inspects an index (`model.safetensors.index.json`, `pytorch_model.bin.index.json`) and every
 * shard it names.
 */
export function inspectShardIndex(directory: Directory, name: string, findings: Findings, probe: Probe): void {
  const index = expectShardIndex(directory, name, findings);
  if (index === null) return;
  checkShardCount(index, directory.pathOf(name), findings);
  reportLeftovers(index, name, directory, findings);
  const before = findings.payloadBytes;
  let isWhole = true;
  for (const [file, tensors] of index.tensors) {
    const shard = new Findings();
    inspectShard({ directory, file, tensors }, shard, probe);
    isWhole &&= !shard.isBroken;
    findings.merge(shard);
  }
  if (isWhole) checkTotalSize(index, findings.payloadBytes - before, directory.pathOf(name), findings);
}

interface Shard {
  readonly directory: Directory;
  readonly file: string;
  /** The tensors that the index expects in the shard. */
  readonly tensors: readonly string[];
}

function inspectShard(shard: Shard, findings: Findings, probe: Probe): void {
  const { directory, file } = shard;
  if (/[/\\]|^\.{0,2}$/.test(file)) {
    findings.add('SHARD_INDEX_NAME', { file: null, found: excerpt(file) }, `the index names ${excerpt(file)}, which is not a file name`);
    return;
  }
  if (!file.endsWith('.safetensors')) {
    inspectTorchShard(shard, findings, probe);
    return;
  }
  const source = openMember(directory, file, findings);
  if (source === null) return;
  if (!safetensors.recognise(source.read(0, 16), source)) {
    findings.merge(probe.inspectFile(directory, file, ['safetensors']).findings);
    return;
  }
  const header = inspectSafetensors(source, findings);
  if (header !== null) compareTensors(shard, new Set(header.tensors.map(({ name }) => name)), findings);
}

/** Reads the older kind of shard: a torch file with a dictionary of tensors. */
function inspectTorchShard(shard: Shard, findings: Findings, probe: Probe): void {
  const { directory, file } = shard;
  const { value } = readObject(directory, file, findings, probe);
  findings.content.add('weights', directory.pathOf(file));
  const names = new Set<string>();
  for (const [name] of dictEntries(value)) names.add(name);
  if (asDict(value) !== null) compareTensors(shard, names, findings);
}

function compareTensors({ directory, file, tensors }: Shard, present: ReadonlySet<string>, findings: Findings): void {
  const path = directory.pathOf(file);
  const missing = tensors.filter((tensor) => !present.has(tensor));
  const first = missing[0];
  if (first !== undefined) {
    findings.add(
      'SHARD_TENSOR_MISSING',
      { file: path, expected: excerpt(first), found: `${missing.length} of ${tensors.length} missing` },
      `the index places ${tensors.length} tensors in ${printable(path)}, and ${missing.length} of them are not there, the first is ${excerpt(first)}`,
    );
  }
  const unlisted = present.size - (tensors.length - missing.length);
  if (unlisted > 0) {
    findings.add(
      'SHARD_TENSOR_UNLISTED',
      { file: path, expected: `${tensors.length} tensors`, found: `${present.size} tensors` },
      `${printable(path)} holds ${unlisted} tensors that the index does not place there`,
    );
  }
}

function checkShardCount(index: ShardIndex, file: string, findings: Findings): void {
  const shards = [...index.tensors.keys()].map(parseShardName).filter((shard) => shard !== null);
  const totals = [...new Set(shards.map(({ total }) => total))];
  if (totals.length === 0 || (totals.length === 1 && totals[0] === shards.length)) return;
  findings.add(
    'SHARD_COUNT',
    { file, expected: `${shards.length} shards`, found: totals.join(', ') },
    `the index uses ${shards.length} numbered shards, whose names say that there are ${totals.join(' or ')}`,
  );
}

function reportLeftovers(index: ShardIndex, name: string, directory: Directory, findings: Findings): void {
  const groups = new Set([...index.tensors.keys()].map((file) => parseShardName(file)?.group));
  groups.add(groupOfIndex(name) ?? undefined);
  for (const entry of directory.files(/-of-\d{5}\.(safetensors|bin)$/)) {
    const shard = parseShardName(entry.name);
    if (shard === null || !groups.has(shard.group) || index.tensors.has(entry.name)) continue;
    const path = directory.pathOf(entry.name);
    findings.add(
      'SHARD_LEFTOVER',
      { file: path },
      `${printable(path)} is named like a shard, but the index ${printable(name)} does not use it`,
    );
  }
}

function checkTotalSize(index: ShardIndex, bytes: number, file: string, findings: Findings): void {
  if (index.totalSize === null || index.totalSize === bytes) return;
  findings.add(
    'SHARD_TOTAL_SIZE',
    { file, expected: `${index.totalSize} bytes`, found: `${bytes} bytes` },
    `the index counts ${index.totalSize} bytes of tensors, the shards hold ${bytes}`,
  );
}
