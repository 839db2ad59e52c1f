import { excerpt, printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { inspectSafetensors } from '../safetensors/safetensors.ts';
import { isArray, isObject, parseJson } from '../../core/json.ts';
import type { Header } from '../safetensors/header.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { openMember } from '../reading/open-member.ts';
import { type Chunk, chunkList } from './chunks.ts';
import { chunkFault, PairBudget } from './tiling.ts';

/** One rank's part of a distributed save in safetensors files, which has no metadata file. */
export const HF_RANK_SHARD = /^shard-\d{5}-model-\d{5}-of-\d{5}\.safetensors$/;

/**
 * Inspects the parts of all ranks. Together, the chunks must fill every tensor as far as they
 * reach.
 */
export function inspectHfShards(directory: Directory, findings: Findings): void {
  const tensors = new Map<string, Chunk[]>();
  for (const { name } of directory.files(HF_RANK_SHARD)) {
    const source = openMember(directory, name, findings);
    const header = source === null ? null : inspectSafetensors(source, findings);
    if (header === null) continue;
    const offsets = savedOffsets(header);
    if (offsets === null) {
      const file = directory.pathOf(name);
      findings.add('DOCUMENT_INVALID', { file }, `${printable(file)} does not say where its chunks belong (DCP_SHARDING_INFO)`);
      continue;
    }
    for (const { name: tensor, shape } of header.tensors) {
      const chunks = tensors.get(tensor) ?? [];
      chunks.push({ offsets: offsets.get(tensor) ?? shape.map(() => 0), sizes: shape });
      tensors.set(tensor, chunks);
    }
  }
  const budget = new PairBudget();
  for (const [name, chunks] of tensors) {
    const fault = chunkFault(reach(chunks), chunkList(chunks), budget);
    if (fault !== null) reportIncomplete(name, fault, directory, findings);
  }
}

/**
 * Returns how far the chunks reach in every dimension. No file records the full size of a tensor,
 * so a missing end is not detected; a missing start or middle is.
 */
function reach(chunks: readonly Chunk[]): readonly number[] {
  const dimensions = chunks[0]?.sizes.length ?? 0;
  return Array.from({ length: dimensions }, (_, dimension) =>
    chunks.reduce((end, { offsets, sizes }) => Math.max(end, (offsets[dimension] ?? 0) + (sizes[dimension] ?? 0)), 0),
  );
}

function reportIncomplete(name: string, fault: string, directory: Directory, findings: Findings): void {
  const message = `the chunks of ${excerpt(name)} in the shards do not make up a tensor: ${excerpt(fault, 120)}`;
  findings.add('DCP_SHARDS_INCOMPLETE', { file: directory.path, found: excerpt(fault, 120) }, message);
}

/** `__metadata__.DCP_SHARDING_INFO`: JSON that gives `saved_offsets` for each tensor. */
function savedOffsets(header: Header): ReadonlyMap<string, readonly number[]> | null {
  const parsed = parseJson(header.metadata.get('DCP_SHARDING_INFO') ?? '');
  if (!parsed.ok || !isObject(parsed.value)) return null;
  const offsets = new Map<string, readonly number[]>();
  for (const [name, entry] of Object.entries(parsed.value)) {
    const saved = isObject(entry) ? entry['saved_offsets'] : undefined;
    if (!isArray(saved) || !saved.every((offset) => typeof offset === 'number' && Number.isSafeInteger(offset) && offset >= 0)) return null;
    offsets.set(name, saved as readonly number[]);
  }
  return offsets;
}
