import { excerpt } from '../../../core/printable.ts';
import { Fault } from '../../reading/fault.ts';
import { LIMITS } from '../../../core/hostile-limits.ts';
import type { SequentialReader } from '../../../bytes/source/sequential-reader.ts';
import { checkArray, type PackedArray, readArrayHead } from './ndarray.ts';
import { readToken, skip, take, type Token } from './token.ts';

const MAX_KEY_BYTES = 64 * 1024;
const MAX_VALUES = 8_000_000;
const ARRAY = 1;
const SCALAR = 3;
/** Marks a map that stands for an array too large for one value. */
const CHUNKED = '__msgpack_chunked_array__';

/** Receives the arrays and integers of a msgpack tree. */
export interface Visitor {
  /** Called after an array's head was read; its bytes follow. */
  array(path: readonly string[], array: PackedArray): void;
  integer(path: readonly string[], value: number, offset: number): void;
}

/** A map or list whose members the walk is reading. */
interface Frame {
  readonly isMap: boolean;
  remaining: number;
  /** Set on a map that holds an array in pieces. */
  pieces: Pieces | null;
  /** The array that members of this map add pieces to, and their role in it. */
  readonly partOf: { readonly pieces: Pieces; readonly as: string } | null;
}

interface Pieces {
  shapeElements: number;
  foundElements: number;
  readonly offset: number;
}

/**
 * Walks one msgpack value as Flax writes it: a nested map with text keys, and arrays as extensions.
 * It builds nothing; the visitor receives arrays and integers with their path. Throws a {@link
 * Fault}.
 */
export function walkState(reader: SequentialReader, visitor: Visitor, maxValues = MAX_VALUES): void {
  const frames: Frame[] = [];
  const path: string[] = [];
  let values = 0;
  do {
    if (++values > maxValues) throw new Fault('LIMIT_EXCEEDED', `more than ${maxValues} values`, { offset: reader.position });
    const frame = frames.at(-1) ?? null;
    if (frame !== null) path[frames.length - 1] = memberName(reader, frame);
    path.length = frames.length;
    const opened = readValue(reader, visitor, path, frame);
    if (opened !== null) frames.push(opened);
    if (frames.length > LIMITS.depth)
      throw new Fault('LIMIT_EXCEEDED', `values nest deeper than ${LIMITS.depth}`, { offset: reader.position });
    closeFinished(frames, path);
  } while (frames.length > 0);
}

function memberName(reader: SequentialReader, frame: Frame): string {
  frame.remaining--;
  if (!frame.isMap) return String(frame.remaining);
  const offset = reader.position;
  const key = readToken(reader);
  if (key.kind !== 'text' || key.length > MAX_KEY_BYTES)
    throw new Fault('MSGPACK_INVALID', `the key of a map at byte ${offset} is not a name`, { offset });
  const name = take(reader, key.length).toString('utf8');
  if (name === CHUNKED) frame.pieces = { shapeElements: 1, foundElements: 0, offset };
  return name;
}

/** Reads one value; a map or list is returned as a new frame. */
function readValue(reader: SequentialReader, visitor: Visitor, path: readonly string[], frame: Frame | null): Frame | null {
  const offset = reader.position;
  const token = readToken(reader);
  switch (token.kind) {
    case 'map':
    case 'array':
      return { isMap: token.kind === 'map', remaining: token.length, pieces: null, partOf: partOf(frame, path.at(-1) ?? '') };
    case 'integer':
      if (frame?.partOf?.as === 'shape') frame.partOf.pieces.shapeElements *= token.value;
      visitor.integer(path, token.value, offset);
      return null;
    case 'extension':
      readExtension(reader, visitor, path, { token, frame });
      return null;
    case 'other':
      return null;
    case 'text':
    case 'binary':
      skip(reader, token.length);
      return null;
  }
}

function partOf(frame: Frame | null, name: string): Frame['partOf'] {
  const pieces = frame?.pieces ?? null;
  return pieces === null ? null : { pieces, as: name };
}

interface Extension {
  readonly token: Extract<Token, { readonly kind: 'extension' }>;
  readonly frame: Frame | null;
}

function readExtension(reader: SequentialReader, visitor: Visitor, path: readonly string[], { token, frame }: Extension): void {
  const end = reader.position + token.length;
  if (token.type === ARRAY || token.type === SCALAR) {
    const array = readArrayHead(reader);
    visitor.array(path, array);
    checkArray(array, end, () => nameOf(path));
    if (frame?.partOf?.as === 'chunks') frame.partOf.pieces.foundElements += array.elements;
  }
  skip(reader, end - reader.position);
}

function closeFinished(frames: Frame[], path: string[]): void {
  for (let frame = frames.at(-1); frame !== undefined && frame.remaining === 0; frame = frames.at(-1)) {
    frames.pop();
    path.length = Math.min(path.length, frames.length);
    const { pieces } = frame;
    if (pieces === null || pieces.shapeElements === pieces.foundElements) continue;
    throw new Fault(
      'MSGPACK_ARRAY_SIZE',
      `array ${nameOf(path)} has ${pieces.shapeElements} elements, its pieces ${pieces.foundElements}`,
      {
        offset: pieces.offset,
        expected: `${pieces.shapeElements} elements`,
        found: `${pieces.foundElements} elements`,
      },
    );
  }
}

/**
 * Returns a readable path. It is built only when needed, because it can be long and there can be
 * millions.
 */
export function nameOf(path: readonly string[]): string {
  return excerpt(path.map((name) => excerpt(name)).join('/'));
}
