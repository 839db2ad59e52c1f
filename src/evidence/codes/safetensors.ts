import type { EvidenceKind } from './kind.ts';

/** Faults of safetensors files and their shard index. */
export const SAFETENSORS_CODES = {
  SAFETENSORS_HEADER_LENGTH: {
    effect: 'corrupt',
    title: 'Impossible header length',
    explain:
      'A safetensors file begins with the length of its header. Here that number is larger than the format allows (100,000,000 bytes). The first eight bytes were overwritten, or the file was made to exhaust the memory of its reader. Nothing in the file can be located.',
  },
  SAFETENSORS_TRUNCATED: {
    effect: 'partial',
    title: 'The safetensors file is cut short',
    explain:
      'The header says where every tensor lies, and the file ends before the last tensor does. The writer was killed, the disk was full, or a copy stopped early. The loader refuses the file; use an older checkpoint or copy it again.',
  },
  SAFETENSORS_TRAILING: {
    effect: 'corrupt',
    title: 'The safetensors file is longer than its header says',
    explain:
      'More bytes follow the last tensor that the header describes. The format forbids this and its loader refuses the file. Something was appended, or a shorter save was written over a longer file without cutting it.',
  },
  SAFETENSORS_HEADER_INVALID: {
    effect: 'corrupt',
    title: 'The safetensors header does not parse',
    explain:
      'The header must be a JSON object that gives type, shape and offsets of each tensor. It breaks this rule at the offset that the evidence gives. The bytes were overwritten or never written; without the header the tensors cannot be found.',
  },
  SAFETENSORS_NAME_REPEATED: {
    effect: 'corrupt',
    title: 'A tensor is described twice',
    explain:
      'The header has two entries of one name, which the format forbids. Readers disagree about which one counts, so the result depends on the reader. No honest writer does this.',
  },
  SAFETENSORS_DTYPE_UNKNOWN: {
    effect: 'warning',
    title: 'Unknown element type',
    explain:
      'A tensor has an element type that this version of Holdfast does not know, so its length could not be compared with its shape. Holdfast still checked its place in the file. A newer library may have introduced the type; an older loader will refuse it.',
  },
  SAFETENSORS_TENSOR_SIZE: {
    effect: 'corrupt',
    title: 'Shape and length of a tensor differ',
    explain:
      'The number of bytes that the header reserves for a tensor is not the number that its shape and element type need. The header was damaged or edited; the loader refuses the file.',
  },
  SAFETENSORS_OVERLAP: {
    effect: 'corrupt',
    title: 'Two tensors share bytes',
    explain:
      'The offsets in the header make two tensors overlap. The format forbids it and the loader refuses the file. The header was damaged, or forged.',
  },
  SAFETENSORS_HOLE: {
    effect: 'corrupt',
    title: 'Bytes that belong to no tensor',
    explain:
      'Between two tensors (or before the first) lie bytes that no entry of the header claims. The format forbids holes and the loader refuses the file. The header was damaged, or entries were removed from it.',
  },
  SHARD_INDEX_MISSING: {
    effect: 'partial',
    title: 'Shards without their index',
    explain:
      'Files named `…-00001-of-00003` exist, but the index that maps tensors to files does not. Writers write the index last, so the save did not finish or the copy was incomplete. Loaders need the index.',
  },
  SHARD_INDEX_NAME: {
    effect: 'corrupt',
    title: 'The index names a file outside its folder',
    explain:
      'An entry of the index holds a path rather than a plain file name. It was not followed. No writer produces this; treat the checkpoint as hostile unless you know where it comes from.',
  },
  SHARD_COUNT: {
    effect: 'zombie',
    title: 'Shards of different counts are mixed',
    explain:
      'Shards carry the total in their names (`-of-00003`), and here the names do not agree with each other or with the number of shards in use. Files of two saves with different shard counts lie in one folder, and a loader would take some of each.',
  },
  SHARD_LEFTOVER: {
    effect: 'warning',
    title: 'Shards that the index does not use',
    explain:
      'Files named like shards lie beside the checkpoint, but its index does not mention them. An earlier save with another number of shards left them behind. A loader that follows the index ignores them; one that takes every matching file does not.',
  },
  SHARD_TENSOR_MISSING: {
    effect: 'zombie',
    title: 'The index and a shard disagree',
    explain:
      'The index says that a tensor is in a shard, and the shard does not have it. Index and shard come from different saves. Some loaders continue with a warning and leave that tensor at its random initial value.',
  },
  SHARD_TENSOR_UNLISTED: {
    effect: 'warning',
    title: 'A shard holds tensors that the index does not place there',
    explain:
      'A shard has tensors which the index does not mention or expects in another file. Everything the index asks for is there. It can be a sign that the shard was written by another save.',
  },
  SHARD_TOTAL_SIZE: {
    effect: 'warning',
    title: 'The total size in the index is not the sum of the shards',
    explain:
      'The index records how many bytes all tensors have together, and the shards have another number. Writers that count shared weights twice cause this too, so it is only a warning.',
  },
} as const satisfies Record<string, EvidenceKind>;
