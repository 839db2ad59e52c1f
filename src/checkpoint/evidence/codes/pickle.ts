import type { EvidenceKind } from '../evidence.ts';

/** What can be wrong with a pickle, and what loading it would do. Pickles are walked, never loaded. */
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
      'An opcode that does not exist, a value taken from an empty stack, a memo entry that was never stored, text that is not text: no writer produces this, so bytes were changed after they were written. The evidence gives the offset of the opcode at which it shows; the damage may lie before it.',
  },
  PICKLE_TRAILING: {
    effect: 'warning',
    title: 'Bytes follow the end of the pickle',
    explain:
      'After the STOP opcode there are bytes that no loader reads. They do no harm to a load, but no writer puts them there: the file was appended to, or overwritten by a shorter one in place.',
  },
  PICKLE_UNSAFE_GLOBAL: {
    effect: 'security',
    title: 'Loading would run something that is not a framework’s own',
    explain:
      'A pickle can name any function that is installed and have it called while it is loaded. This one names something outside the list of names that the frameworks themselves write. It may be a harmless class of the project that made the checkpoint, or an attack: functions that start programs, evaluate code or open files have no business in a checkpoint. Load it with `weights_only=True`, which refuses such names, or not at all unless you trust where it comes from.',
  },
  PICKLE_COMPUTED_CALL: {
    effect: 'security',
    title: 'Loading would call something that cannot be named beforehand',
    explain:
      'The pickle calls the result of another call, or changes an imported function, class or module. Frameworks do not write this; it is a way to hide what is called. Do not load the file unless you trust where it comes from.',
  },
} as const satisfies Record<string, EvidenceKind>;
