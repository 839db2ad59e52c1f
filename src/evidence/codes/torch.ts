import type { EvidenceKind } from './kind.ts';

/** Faults of a `torch.save` file, in the current zip format or the one before. */
export const TORCH_CODES = {
  TORCH_RECORD_MISSING: {
    effect: 'partial',
    title: 'A record of the PyTorch file is missing',
    explain:
      'A file of `torch.save` holds a pickle, a version and one record for each tensor storage that the pickle refers to. One of them is missing, so the load will fail. The archive was put together by hand, or entries were removed from it.',
  },
  TORCH_STORAGE_SIZE: {
    effect: 'corrupt',
    title: 'A storage does not have the size that the pickle gives',
    explain:
      'The pickle says how many elements of which type a storage holds, and the storage has more or fewer bytes. Its tensors would be wrong. Bytes of the pickle or of the archive’s directory were changed, or the record was replaced.',
  },
  TORCH_STORAGE_UNKNOWN: {
    effect: 'corrupt',
    title: 'A reference to tensor data makes no sense',
    explain:
      'Tensors refer to their data by a storage type, a key, a device and a number of elements. One such reference in the pickle has a different form, or names a type that PyTorch does not have. It cannot be resolved.',
  },
  TORCH_DATA_SKIPPED: {
    effect: 'partial',
    title: 'The tensor data was never written',
    explain:
      'The file was saved under `torch.serialization.skip_data`, which reserves the space of every tensor and leaves zeros in it, for another writer to fill. Its records carry no checksum and all sampled bytes are zero: no writer filled it. It loads without an error and gives zeros.',
  },
  TORCH_NO_CHECKSUMS: {
    effect: 'note',
    title: 'The writer stored no checksums',
    explain:
      'Every checksum of the tensor records is zero: the file was written with `set_crc32_options(False)`, which is faster. That is not a fault, but the file alone cannot prove that its tensor bytes are unchanged.',
  },
  TORCH_DOCUMENT: {
    effect: 'corrupt',
    title: 'A small record of the PyTorch file is wrong',
    explain:
      'The record `version` must hold a number and `byteorder` must say `little` or `big`. One of them holds something else, so the file was changed.',
  },
  TORCH_UNREFERENCED: {
    effect: 'note',
    title: 'The file holds unused tensor data',
    explain: 'The archive has storage records that its pickle does not mention. They take space and are never loaded.',
  },
  TORCH_SCRIPT: {
    effect: 'note',
    title: 'A TorchScript program',
    explain:
      '`torch.jit.save` wrote this archive: besides weights it holds the code of a model. It is made for inference; a run does not resume from it.',
  },
  TORCH_LEGACY_TRUNCATED: {
    effect: 'partial',
    title: 'Tensor data is missing at the end',
    explain:
      'In the format PyTorch used before 1.6 the data of all tensors follows the pickles. The file ends before the last tensor: the save was interrupted or the file was cut.',
  },
  TORCH_LEGACY_INVALID: {
    effect: 'corrupt',
    title: 'The parts of the PyTorch file contradict each other',
    explain:
      'A file in the format before PyTorch 1.6 is a row of pickles, followed by the data. The pickles are a magic number, a version, facts about the machine, the object, and the list of storages. One of them is not valid, so bytes were changed.',
  },
  TORCH_LEGACY_TRAILING: {
    effect: 'warning',
    title: 'Bytes follow the end of the PyTorch file',
    explain: 'More bytes follow the data of the last tensor. PyTorch ignores them. No writer puts them there: something was appended.',
  },
  TORCH_TAR: {
    effect: 'unreadable',
    title: 'A PyTorch file in the tar format of 2016',
    explain:
      'Before version 0.1.10 PyTorch saved tar archives with the members `storages`, `tensors` and `pickle`. Holdfast recognises them but does not read them. Load the file with a PyTorch that still can, and save it again.',
  },
} as const satisfies Record<string, EvidenceKind>;
