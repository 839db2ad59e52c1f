import type { EvidenceKind } from './kind.ts';

/** Faults of NumPy's files: `.npy` and the members of `.npz`. */
export const NUMPY_CODES = {
  NUMPY_TRUNCATED: {
    effect: 'partial',
    title: 'The array is cut short',
    explain:
      'The header of a `.npy` file says how many elements the array has, and the file ends before the last of them. The save was interrupted or the file was cut.',
  },
  NUMPY_HEADER_INVALID: {
    effect: 'corrupt',
    title: 'The header of an array makes no sense',
    explain:
      'A `.npy` file begins with a short text that gives the type, the order and the shape of the array. This one cannot be parsed or describes nothing NumPy could load, so bytes of it were changed.',
  },
  NUMPY_MEMBER_SIZE: {
    effect: 'corrupt',
    title: 'An array in the archive has the wrong size',
    explain:
      'A member of an `.npz` archive has fewer bytes than the type and shape in its own header need. The archive and the array contradict each other; the load fails.',
  },
  NUMPY_TRAILING: {
    effect: 'warning',
    title: 'Bytes follow the array',
    explain:
      'More bytes follow the last element of the array. `numpy.load` ignores them; something was appended, or several arrays were saved into one file.',
  },
  NUMPY_PICKLED: {
    effect: 'note',
    title: 'An array of Python objects',
    explain:
      'The array does not hold numbers but a pickle. `numpy.load` refuses it unless `allow_pickle=True` is given, because loading a pickle can run code. Holdfast walks the pickle and lists what a load would import.',
  },
  NPZ_FOREIGN_MEMBER: {
    effect: 'warning',
    title: 'A member of the archive is not an array',
    explain: 'An `.npz` archive consists of `.npy` files. `numpy.load` returns any other member as raw bytes; no trainer writes one.',
  },
} as const satisfies Record<string, EvidenceKind>;
