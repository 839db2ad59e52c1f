import type { EvidenceKind } from './kind.ts';

/** Faults of a GGUF file. */
export const GGUF_CODES = {
  GGUF_TRUNCATED: {
    effect: 'partial',
    title: 'The GGUF file is cut short',
    explain:
      'The header describes more bytes than the file has, or the file ends inside the header. The conversion was killed, the disk was full, or a download stopped early. Convert or fetch it again.',
  },
  GGUF_TRAILING: {
    effect: 'warning',
    title: 'Bytes after the last tensor',
    explain:
      'The file continues after its last tensor and the padding behind it. Readers ignore such bytes, so the model itself is not affected, but something was appended or a shorter model was written over a longer file.',
  },
  GGUF_HEADER_INVALID: {
    effect: 'corrupt',
    title: 'The GGUF header contradicts itself',
    explain:
      'A count, a length, a value type or a shape in the header is one that no writer produces. Bytes of the header were overwritten, so nothing after them can be located.',
  },
  GGUF_NAME_REPEATED: {
    effect: 'corrupt',
    title: 'A key or a tensor appears twice',
    explain:
      'Two entries of the header have the same name, so it is unclear which one counts. Loaders refuse such a file. The header was damaged, or the file was put together by hand.',
  },
  GGUF_LAYOUT_INVALID: {
    effect: 'corrupt',
    title: 'Tensors do not lie where they must',
    explain:
      'In a GGUF file each tensor begins at the first aligned offset behind the one before it. Here one does not, so tensors overlap, leave gaps or are out of order: an offset, a shape or a type in the header was damaged. The loader of llama.cpp refuses the file; others read wrong values.',
  },
  GGUF_TYPE_UNKNOWN: {
    effect: 'unreadable',
    title: 'A tensor type that Holdfast does not know',
    explain:
      'The type number of a tensor is not in the list of types, so its size cannot be computed and the file cannot be judged. Either it was written by a newer ggml, or the header was damaged.',
  },
  GGUF_VERSION_UNKNOWN: {
    effect: 'unreadable',
    title: 'A version of GGUF that Holdfast does not know',
    explain:
      'Versions 2 and 3 are read. Version 1 was in use for a few weeks only, and today’s loaders refuse it. A higher number is a newer format, or damage to the first eight bytes.',
  },
  GGUF_SPLIT: {
    effect: 'note',
    title: 'One part of a model that is split over several files',
    explain:
      'The header says that the model consists of several files. This verdict is about this file alone. Check that all parts exist, from `-00001-of-0000N` to the last.',
  },
} as const satisfies Record<string, EvidenceKind>;
