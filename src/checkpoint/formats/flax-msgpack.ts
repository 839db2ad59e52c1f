import type { Need } from '../content.ts';
import { needOfKey } from '../content-names.ts';
import { Fault, reportFaults } from '../fault.ts';
import type { Findings } from '../findings.ts';
import { itemBytes, type PackedArray } from '../msgpack/ndarray.ts';
import { walkState } from '../msgpack/walk.ts';
import type { ByteSource } from '../source/byte-source.ts';
import { SequentialReader } from '../source/sequential-reader.ts';
import type { FileFormat } from './format.ts';

/** What lies between two arrays is short: a larger window would read tensor bytes for nothing. */
const WINDOW_BYTES = 512;
/** How far recognition looks for the first array. */
const MAX_VALUES_TO_RECOGNISE = 256;

/** A state dictionary of Flax in one msgpack value. It stores no checksum. */
export const flaxMsgpack: FileFormat = {
  id: 'flax-msgpack',
  title: 'Flax checkpoint (msgpack)',
  extensions: ['.msgpack'],
  recognise(head, source) {
    const first = head[0] ?? 0;
    const isMap = (first > 0x80 && first <= 0x8f) || first === 0xde || first === 0xdf;
    return isMap && holdsPackedArray(source);
  },
  inspect(source, findings) {
    reportFaults(source, findings, () => inspectState(source, findings));
  },
};

/** True when the value, read from its start, comes to an array packed as Flax does it. Any other msgpack map is left alone. */
function holdsPackedArray(source: ByteSource): boolean {
  let isFound = false;
  const found = new Fault('MSGPACK_INVALID', 'looked far enough');
  try {
    const visitor = {
      array(): void {
        isFound = true;
        throw found;
      },
      integer: () => undefined,
    };
    walkState(new SequentialReader(source, WINDOW_BYTES), visitor, MAX_VALUES_TO_RECOGNISE);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
  }
  return isFound;
}

function inspectState(source: ByteSource, findings: Findings): void {
  const reader = new SequentialReader(source, WINDOW_BYTES);
  const { file } = source;
  walkState(reader, {
    array(path, array) {
      findings.payloadBytes += array.bytes;
      const need = needOfPath(path);
      if (need !== 'step') findings.content.add(need, file);
      else noteStep(path, scalarOf(array, source), source, findings);
    },
    integer(path, value) {
      if (needOfPath(path) === 'step') noteStep(path, value, source, findings);
    },
  });
  if (reader.remaining === 0) return;
  throw new Fault(
    'MSGPACK_TRAILING',
    `the value ends at byte ${reader.position}, ${reader.remaining} more follow, and the loader refuses that`,
    {
      offset: reader.position,
      expected: `${reader.position} bytes`,
      found: `${source.size} bytes`,
    },
  );
}

/** What a member is for: the first name on its path that says so. Unnamed arrays are parameters, as published models have them. */
function needOfPath(path: readonly string[]): Need {
  const [first, second, third] = path;
  // The optimizers Flax had before Optax hold the parameters and the counter themselves.
  if (first === 'optimizer' && second === 'target') return 'weights';
  if (first === 'optimizer' && second === 'state' && third === 'step') return 'step';
  for (const name of path) {
    const need = needOfKey(name);
    if (need !== null) return need;
  }
  return 'weights';
}

function noteStep(path: readonly string[], value: number | null, { file }: ByteSource, findings: Findings): void {
  const isCounter = path.length === 1 || path[0] === 'optimizer';
  if (value !== null && isCounter) findings.content.addStep(value, file, `${file}: ${path.join('/')}`);
}

/** The value of an integer without dimensions. */
function scalarOf({ dtype, elements, offset, bytes, shape }: PackedArray, source: ByteSource): number | null {
  if (elements !== 1 || shape.length > 0 || !/^u?int(8|16|32|64)$/.test(dtype) || bytes !== itemBytes(dtype)) return null;
  const value = source.read(offset, bytes);
  if (value.length < bytes) return null;
  if (bytes === 8) return Number(value.readBigInt64LE(0));
  return dtype.startsWith('u') ? value.readUIntLE(0, bytes) : value.readIntLE(0, bytes);
}
