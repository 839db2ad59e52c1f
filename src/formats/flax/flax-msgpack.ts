import type { Need } from '../reading/content.ts';
import { needOfKey } from '../reading/content-names.ts';
import { Fault, reportFaults } from '../reading/fault.ts';
import type { Findings } from '../reading/findings.ts';
import { itemBytes, type PackedArray } from '../encodings/msgpack/ndarray.ts';
import { nameOf, walkState } from '../encodings/msgpack/walk.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import { SequentialReader } from '../../bytes/source/sequential-reader.ts';
import type { FileFormat } from '../reading/format.ts';

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

/**
 * True when the value, read from its start, comes to an array packed as Flax does it. Any other
 * msgpack map is left alone.
 */
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
      if (isCounter(path) && needOfPath(path) === 'step') noteStep(path, value, source, findings);
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

/**
 * What a member is for: the first name on its path that says so. Unnamed arrays are parameters, as
 * published models have them.
 */
function needOfPath(path: readonly string[]): Need {
  const [first, second, third] = path;
  // The optimizers Flax had before Optax hold the parameters and the counter themselves.
  if (first === 'optimizer' && second === 'target') return 'weights';
  if (first === 'optimizer' && second === 'state' && third === 'step') return 'step';
  for (const name of path.slice(0, NAMES_JUDGED)) {
    const need = needOfName(name);
    if (need !== null) return need;
  }
  return 'weights';
}

/**
 * Names at the beginning of a path that are judged, and how long they may be: deeper and longer
 * ones are a model's own.
 */
const NAMES_JUDGED = 16;
const CHARACTERS_JUDGED = 128;
const REMEMBERED = 4096;
const judged = new Map<string, Need | null>();

/** Remembers the answers: the same few names stand on the paths of millions of values. */
function needOfName(name: string): Need | null {
  if (name.length > CHARACTERS_JUDGED) return null;
  const known = judged.get(name);
  if (known !== undefined) return known;
  const need = needOfKey(name);
  if (judged.size < REMEMBERED) judged.set(name, need);
  return need;
}

function noteStep(path: readonly string[], value: number | null, { file }: ByteSource, findings: Findings): void {
  if (value !== null && isCounter(path)) findings.content.addStep(value, file, `${file}: ${nameOf(path)}`);
}

/** Where the counter of a training state stands. */
function isCounter(path: readonly string[]): boolean {
  return path.length === 1 || (path[0] === 'optimizer' && path.length <= COUNTER_DEPTH);
}

const COUNTER_DEPTH = 8;

/** The value of an integer without dimensions. */
function scalarOf({ dtype, elements, offset, bytes, shape }: PackedArray, source: ByteSource): number | null {
  if (elements !== 1 || shape.length > 0 || !/^u?int(8|16|32|64)$/.test(dtype) || bytes !== itemBytes(dtype)) return null;
  const value = source.read(offset, bytes);
  if (value.length < bytes) return null;
  if (bytes === 8) return Number(value.readBigInt64LE(0));
  return dtype.startsWith('u') ? value.readUIntLE(0, bytes) : value.readIntLE(0, bytes);
}
