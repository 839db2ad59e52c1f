import type { EvidenceKind } from './kind.ts';

/** Faults of a PyTorch distributed checkpoint (DCP). */
export const DCP_CODES = {
  DCP_NO_METADATA: {
    effect: 'partial',
    title: 'The distributed checkpoint was never committed',
    explain:
      'Shard files (`*.distcp`) are there, but the `.metadata` file that a distributed save writes last is not. The save was interrupted before its end, or the file was not copied. Without it the bytes cannot be assigned to tensors; use an older checkpoint.',
  },
  DCP_METADATA_EMPTY: {
    effect: 'partial',
    title: 'The commit marker is empty',
    explain:
      'The `.metadata` file has no bytes. Some versions of the writer sync it before they have written it. A power loss right after the save then leaves an empty marker beside complete shards. The shards may be whole, but their content is not described anywhere.',
  },
  DCP_METADATA_SHAPE: {
    effect: 'corrupt',
    title: 'The metadata does not describe a distributed checkpoint',
    explain:
      'The `.metadata` file is a pickle that can be read to its end, but what it describes is not the object that a distributed save writes. It was overwritten by something else, or edited.',
  },
  DCP_PATH_OUTSIDE: {
    effect: 'corrupt',
    title: 'The metadata names a file outside the checkpoint',
    explain:
      'An entry of the metadata gives a path rather than the name of a file in the same folder. It was not followed. The writer never produces this; treat the checkpoint as hostile unless you know where it comes from.',
  },
  DCP_CHUNKS: {
    effect: 'corrupt',
    title: 'The chunks of a tensor do not make up the tensor',
    explain:
      'The metadata cuts each tensor into chunks. The chunks of this tensor leave a part of it out, overlap, or reach beyond it. The writer checks this before it saves, so the metadata was damaged or put together from several saves.',
  },
  DCP_NOT_STORED: {
    effect: 'corrupt',
    title: 'The metadata does not say where a tensor lies',
    explain:
      'A tensor or object is listed in the metadata, but no file and offset are given for it or for one of its chunks. A load that asks for it fails.',
  },
  DCP_SHARD_TRUNCATED: {
    effect: 'partial',
    title: 'A shard file is cut short',
    explain:
      'The metadata places bytes in a shard file beyond its end. The rank that wrote it was killed, its disk was full, or a copy stopped early. Loaders cannot read the part behind its end.',
  },
  DCP_SHARD_TRAILING: {
    effect: 'warning',
    title: 'A shard file is longer than the metadata says',
    explain:
      'The shard file continues after the last byte that the metadata accounts for. Loaders ignore the rest. It happens when something was appended, and when a smaller save is written over a larger one without cutting it.',
  },
  DCP_SHARD_GAP: {
    effect: 'warning',
    title: 'Bytes in a shard file that belong to nothing',
    explain:
      'Between two items of a shard file lie bytes that the metadata does not account for. The writer puts its items back to back, so the shard may come from another save than the metadata.',
  },
  DCP_SHARD_OVERLAP: {
    effect: 'corrupt',
    title: 'Two items share bytes of a shard file',
    explain: 'The metadata gives overlapping places to two different items. At least one of them would be loaded with wrong bytes.',
  },
  DCP_SHARD_UNREFERENCED: {
    effect: 'warning',
    title: 'Shard files that the metadata does not use',
    explain:
      'Shard files lie in the folder that the metadata does not mention. They are left from an earlier save by more ranks or threads into the same folder. Loaders ignore them; they take space, and they show that the folder was written more than once.',
  },
  DCP_SLICE_FOREIGN: {
    effect: 'corrupt',
    title: 'The bytes at an item’s place are not that item',
    explain:
      'Every tensor in a shard file is a small torch file of its own. At the place that the metadata gives for this one, the start or the end of such a file is missing. The shard was overwritten, zeroed, or comes from another save with another layout.',
  },
  DCP_SLICE_SIZE: {
    effect: 'corrupt',
    title: 'A stored chunk is smaller than the metadata says',
    explain:
      'The torch file at the place of a chunk holds fewer bytes of data than the chunk’s shape and element type need. The shard comes from another save, or the metadata does.',
  },
  DCP_COUNTERS_DIFFER: {
    effect: 'zombie',
    title: 'Shards count different numbers of optimizer steps',
    explain:
      'The optimizer keeps a step counter for each parameter, and a save spreads these over the shard files. Here every file agrees with itself but not with the others: the folder mixes shards of several saves. A load would accept them as one checkpoint. Parameters that joined the training later also have lower counters; they are usually spread over all files.',
  },
  DCP_SHARDS_INCOMPLETE: {
    effect: 'partial',
    title: 'The shards of all ranks do not make up a tensor',
    explain:
      'In a distributed save to safetensors every rank writes its chunks and their positions. Together, these chunks leave a part of a tensor out or cover a part twice. A rank’s file is missing, or files of saves with different layouts are mixed.',
  },
  DCP_SAVED_ELSEWHERE: {
    effect: 'warning',
    title: 'The metadata was saved under the name of another step',
    explain:
      'The metadata of a distributed checkpoint records its folder, and the name of that folder has a different step. The folder was renamed, or the metadata was copied in from another save.',
  },
  DCP_RANK_MISSING: {
    effect: 'partial',
    title: 'The metadata of a rank is missing',
    explain:
      'In a save without coordination every rank writes its own `__RANK.metadata` after its shards. The file of this rank does not exist, so its part of the save did not finish or was not copied.',
  },
} as const satisfies Record<string, EvidenceKind>;
