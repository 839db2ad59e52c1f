import type { EvidenceKind } from '../evidence.ts';

/** What can be wrong with NumPy's files, `.npy` and the members of `.npz`. */
export const NUMPY_CODES = {
  NUMPY_TRUNCATED: {
    effect: 'partial',
    title: 'The array is not all there',
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
      'A member of an `.npz` archive has fewer bytes than the type and shape in its own header ask for. The archive and the array contradict each other; the load fails.',
  },
  NUMPY_TRAILING: {
    effect: 'warning',
    title: 'Bytes follow the array',
    explain:
      'After the last element of the array there are more bytes. `numpy.load` ignores them; something was appended, or several arrays were saved into one file.',
  },
  NUMPY_PICKLED: {
    effect: 'note',
    title: 'An array of Python objects',
    explain:
      'The array does not hold numbers but a pickle. `numpy.load` refuses it unless `allow_pickle=True` is given, because loading a pickle can run code. Holdfast walks it and names what a load would import.',
  },
  NPZ_FOREIGN_MEMBER: {
    effect: 'warning',
    title: 'A member of the archive is no array',
    explain:
      'An `.npz` archive consists of `.npy` files. A member that is none is handed out by `numpy.load` as raw bytes; no trainer puts it there.',
  },
} as const satisfies Record<string, EvidenceKind>;
