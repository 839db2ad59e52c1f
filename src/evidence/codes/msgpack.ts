import type { EvidenceKind } from './kind.ts';

/** Faults of a msgpack file. */
export const MSGPACK_CODES = {
  MSGPACK_TRUNCATED: {
    effect: 'partial',
    title: 'The msgpack file is cut short',
    explain:
      'The file is one msgpack value, and it ends before that value does. The writer was killed, the disk was full, or a copy stopped early. Flax refuses it; use an older checkpoint or copy it again.',
  },
  MSGPACK_TRAILING: {
    effect: 'corrupt',
    title: 'Bytes after the msgpack value',
    explain:
      'The state ends before the file does. Flax refuses a file with bytes behind its value. Something was appended, or a shorter save was written over a longer file without cutting it.',
  },
  MSGPACK_INVALID: {
    effect: 'corrupt',
    title: 'The bytes are not msgpack as Flax writes it',
    explain:
      'A value starts with an impossible byte, a key of a map is not text, or an array does not have the three parts that Flax writes. Bytes were overwritten, so the rest of the file cannot be read.',
  },
  MSGPACK_ARRAY_SIZE: {
    effect: 'corrupt',
    title: 'An array does not have the bytes its shape needs',
    explain:
      'Each array is stored with its shape, its element type and its bytes. Here their sizes contradict each other, so one of them was overwritten. Flax fails when it comes to this array.',
  },
} as const satisfies Record<string, EvidenceKind>;
