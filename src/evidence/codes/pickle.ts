import type { EvidenceKind } from './kind.ts';

/**
 * Faults of a pickle, and the effects that loading it would have. Readers walk pickles and never
 * load them.
 */
export const PICKLE_CODES = {
  PICKLE_TRUNCATED: {
    effect: 'partial',
    title: 'The pickle ends too early',
    explain:
      'A pickle ends with a STOP opcode, and this one ran out of bytes before it. The save was interrupted or the file was cut. No loader can read it; use an older checkpoint.',
  },
  PICKLE_INVALID: {
    effect: 'corrupt',
    title: 'The pickle contradicts itself',
    explain:
      'It contains an unknown opcode, a value from an empty stack, a memo entry that was never stored, or text that is not text. No writer produces this, so bytes were changed after they were written. The evidence gives the offset of the first wrong opcode; the damage may lie before it.',
  },
  PICKLE_TRAILING: {
    effect: 'warning',
    title: 'Bytes follow the end of the pickle',
    explain:
      'After the STOP opcode there are bytes that no loader reads. They do not affect a load, but no writer puts them there. Something was appended, or a shorter file overwrote a longer one in place.',
  },
  PICKLE_UNSAFE_GLOBAL: {
    effect: 'security',
    title: 'Loading would run code that is not part of a framework',
    explain:
      'A pickle can call any installed function while it is loaded. This one names a function or class that the frameworks themselves never write. It may be a harmless class of the project that made the checkpoint, or an attack. A checkpoint needs no functions that start programs, evaluate code or open files. Load it with `weights_only=True`, which refuses such names. Load it in another way only if you trust its origin.',
  },
  PICKLE_COMPUTED_CALL: {
    effect: 'security',
    title: 'Loading would call code that is computed during the load',
    explain:
      'The pickle calls the result of another call, or changes an imported function, class or module. Frameworks do not write this; it is a way to hide a call. Do not load the file unless you trust its origin.',
  },
} as const satisfies Record<string, EvidenceKind>;
