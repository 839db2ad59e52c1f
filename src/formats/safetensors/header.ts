import { isUtf8 } from 'node:buffer';
import { HeaderError, JsonCursor } from './json-cursor.ts';

/** One tensor as the header describes it. Offsets count from the end of the header. */
export interface TensorInfo {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

/** The parsed header of a safetensors file. */
export interface Header {
  readonly tensors: readonly TensorInfo[];
  /** `__metadata__`: the writer's own notes, string to string. */
  readonly metadata: ReadonlyMap<string, string>;
  /** Names that occur more than once, with the offset of the repetition in the header. */
  readonly repeated: readonly { readonly name: string; readonly offset: number }[];
}

/** The header, or the reason for refusing it. */
export type ParsedHeader =
  | { readonly ok: true; readonly header: Header }
  | { readonly ok: false; readonly limit: boolean; readonly offset: number; readonly reason: string };

const MAX_DIMENSIONS = 64;
/**
 * The most tensors that a header may name. Each costs a few hundred bytes, besides its entry in an
 * index. The largest models have 150 thousand, in dozens of files.
 */
const MAX_TENSORS = 100_000;

/**
 * Parses the JSON between the length and the data. It never throws; `offset` counts from the start
 * of `bytes`.
 */
export function parseHeader(bytes: Buffer): ParsedHeader {
  if (!isUtf8(bytes)) return { ok: false, limit: false, offset: 0, reason: 'bytes that are not UTF-8' };
  try {
    return new HeaderParser(bytes).parse();
  } catch (thrown) {
    if (!(thrown instanceof HeaderError)) throw thrown;
    return { ok: false, limit: thrown.limit, offset: thrown.offset, reason: thrown.message };
  }
}

class HeaderParser {
  readonly #cursor: JsonCursor;
  readonly #tensors: TensorInfo[] = [];
  readonly #metadata = new Map<string, string>();
  readonly #repeated: { name: string; offset: number }[] = [];
  readonly #seen = new Set<string>();

  constructor(bytes: Buffer) {
    this.#cursor = new JsonCursor(bytes);
  }

  parse(): ParsedHeader {
    const cursor = this.#cursor;
    cursor.object((name, offset) => this.#entry(name, offset));
    if (cursor.peek() !== -1) throw new HeaderError(cursor.position, 'something after the closing brace');
    return { ok: true, header: { tensors: this.#tensors, metadata: this.#metadata, repeated: this.#repeated } };
  }

  #entry(name: string, offset: number): void {
    if (this.#seen.has(name)) this.#repeated.push({ name, offset });
    this.#seen.add(name);
    if (this.#seen.size + this.#repeated.length > MAX_TENSORS) throw new HeaderError(offset, `more than ${MAX_TENSORS} tensors`, true);
    if (name === '__metadata__') this.#readMetadata();
    else this.#tensors.push(this.#readTensor(name, offset));
  }

  #readMetadata(): void {
    this.#cursor.object((key) => {
      this.#metadata.set(key, this.#cursor.string());
    });
  }

  #readTensor(name: string, offset: number): TensorInfo {
    const cursor = this.#cursor;
    let dtype: string | null = null;
    let shape: number[] | null = null;
    let offsets: number[] | null = null;
    cursor.object((key) => {
      if (key === 'dtype') dtype = cursor.string();
      else if (key === 'shape') shape = this.#numbers(MAX_DIMENSIONS);
      else if (key === 'data_offsets') offsets = this.#numbers(2);
      else cursor.skip();
    });
    return completeTensor({ name, dtype, shape, offsets }, offset);
  }

  #numbers(most: number): number[] {
    const numbers: number[] = [];
    this.#cursor.array(() => {
      if (numbers.length >= most) throw new HeaderError(this.#cursor.position, `a list of more than ${most} numbers`);
      numbers.push(this.#cursor.unsigned());
    });
    return numbers;
  }
}

interface TensorParts {
  readonly name: string;
  readonly dtype: string | null;
  readonly shape: readonly number[] | null;
  readonly offsets: readonly number[] | null;
}

function completeTensor({ name, dtype, shape, offsets }: TensorParts, offset: number): TensorInfo {
  const [begin, end] = offsets ?? [];
  if (dtype === null || shape === null || begin === undefined || end === undefined) {
    throw new HeaderError(offset, 'a tensor without dtype, shape or two data_offsets');
  }
  return { name, dtype, shape, begin, end };
}
