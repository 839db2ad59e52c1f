import { LIMITS } from '../../core/hostile-limits.ts';
import type { PickleConsumer } from '../encodings/pickle/consumer.ts';
import { asItems, attribute, isNode, type PickleDict, type PickleSequence, type PickleValue } from '../encodings/pickle/value.ts';
import { type Chunk, ChunkPool, ChunkRun, chunkList, type Chunks, joinChunks } from './chunks.ts';
import { type DcpMetadata, type Misshapen, misshapen, type TensorItem } from './dcp-metadata.ts';
import { isOf, readChunk, readDtype, readSize, readStored } from './metadata-values.ts';
import { StoredTable } from './stored-table.ts';

/** The fields kept for a tensor besides its name and chunks. */
const TENSOR_BYTES = 320;
const NO_CHUNKS = chunkList([]);

interface Items {
  readonly tensors: Map<string, TensorItem>;
  readonly objects: Set<string>;
}

/**
 * Takes the chunks, tensors and storage entries out of the metadata's pickle during the walk, and
 * keeps them as columns. It takes only values with exactly the shape that the writer gives them.
 * The rest stays in the tree and is read from there at the end.
 */
export class MetadataStream implements PickleConsumer {
  readonly #pool = new ChunkPool();
  readonly #runs = new Map<PickleSequence, ChunkRun>();
  readonly #items = new Map<PickleDict, Items>();
  readonly #stored = new Map<PickleDict, StoredTable>();
  /**
   * Chunks counted once per tensor that uses them, because one list of chunks can serve very many
   * tensors.
   */
  #chunks = 0;

  takeItems(list: PickleSequence, items: readonly PickleValue[]): number | null {
    if (list.items.length > 0 || !items.every((item) => isOf(item, 'ChunkStorageMetadata'))) return null;
    const chunks = items.map(readChunk);
    const dimensions = chunks[0]?.sizes.length ?? 0;
    const known = this.#runs.get(list);
    const run = known ?? new ChunkRun(this.#pool, dimensions);
    if (dimensions === 0 || this.#pool.end > 8 * LIMITS.entries || !run.continues || !chunks.every((chunk) => run.fits(chunk))) return null;
    const before = this.#pool.bytes;
    for (const chunk of chunks) run.push(chunk);
    this.#runs.set(list, run);
    return this.#pool.bytes - before + (known === undefined ? 200 : 0);
  }

  takeEntries(dict: PickleDict, flat: readonly PickleValue[]): number | null {
    if (dict.keys.length > 0) return null;
    if (isOf(flat[0], 'MetadataIndex')) return this.#takeStored(dict, flat);
    return typeof flat[0] === 'string' && isItem(flat[1]) ? this.#takeItems(dict, flat) : null;
  }

  #takeStored(dict: PickleDict, flat: readonly PickleValue[]): number | null {
    const entries = [];
    for (let index = 0; index < flat.length; index += 2) {
      const entry = isOf(flat[index], 'MetadataIndex') ? readStored(flat[index], flat[index + 1]) : null;
      if (entry === null) return null;
      entries.push(entry);
    }
    const table = this.storedOf(dict);
    if (table.length + entries.length > LIMITS.entries) return null;
    const before = table.bytes;
    for (const entry of entries) table.push(entry);
    return table.bytes - before;
  }

  #takeItems(dict: PickleDict, flat: readonly PickleValue[]): number | null {
    for (let index = 0; index < flat.length; index += 2) {
      if (typeof flat[index] !== 'string' || !isComplete(flat[index + 1])) return null;
    }
    let bytes = 0;
    for (let index = 0; index < flat.length && this.#chunks <= LIMITS.entries; index += 2) {
      const name = flat[index] as string;
      this.#addItem(this.itemsOf(dict), name, flat[index + 1]);
      bytes += TENSOR_BYTES + 2 * name.length;
    }
    return bytes;
  }

  /** Reads the entries left in the dictionary of tensors and objects. */
  finishItems(dict: PickleDict): Misshapen | null {
    const items = this.itemsOf(dict);
    for (const [index, name] of dict.keys.entries()) {
      if (typeof name !== 'string') return misshapen('a name that is not text');
      this.#addItem(items, name, dict.values[index]);
      if (this.#chunks > LIMITS.entries) break;
    }
    return this.#chunks > LIMITS.entries ? misshapen(`more than ${LIMITS.entries} chunks`, true) : null;
  }

  /** Reads the entries left in the dictionary of places. */
  finishStorage(dict: PickleDict): Misshapen | null {
    const table = this.storedOf(dict);
    const count = table.length + dict.keys.length;
    if (count > LIMITS.entries) return misshapen(`${count} entries of storage_data; at most ${LIMITS.entries} are read`, true);
    for (const [index, key] of dict.keys.entries()) {
      const item = readStored(key, dict.values[index]);
      if (item === null) return misshapen(`an entry of storage_data (number ${table.length}) without name, file, offset or length`);
      table.push(item);
    }
    return null;
  }

  itemsOf(dict: PickleDict): Items & Pick<DcpMetadata, 'tensors' | 'objects'> {
    const known = this.#items.get(dict);
    if (known !== undefined) return known;
    const items: Items = { tensors: new Map(), objects: new Set() };
    this.#items.set(dict, items);
    return items;
  }

  storedOf(dict: PickleDict): StoredTable {
    const known = this.#stored.get(dict);
    if (known !== undefined) return known;
    const table = new StoredTable();
    this.#stored.set(dict, table);
    return table;
  }

  #addItem(items: Items, name: string, value: PickleValue | undefined): void {
    if (!isOf(value, 'TensorStorageMetadata')) {
      items.objects.add(name);
      return;
    }
    const chunks = this.#chunksOf(attribute(value, 'chunks'));
    this.#chunks += chunks.length;
    items.tensors.set(name, { dtype: readDtype(attribute(value, 'properties')), size: readSize(attribute(value, 'size')) ?? [], chunks });
  }

  #chunksOf(value: PickleValue | undefined): Chunks {
    const run = isNode(value) && value.kind === 'list' ? this.#runs.get(value) : undefined;
    const rest: Chunk[] = [];
    for (const chunk of asItems(value) ?? []) {
      if (this.#chunks + rest.length > LIMITS.entries) break;
      rest.push(readChunk(chunk));
    }
    return joinChunks(run ?? NO_CHUNKS, chunkList(rest));
  }
}

function isItem(value: PickleValue | undefined): boolean {
  return isOf(value, 'TensorStorageMetadata') || isOf(value, 'BytesStorageMetadata');
}

/** Leave a tensor without attributes in the tree, because the pickle may still set them. */
function isComplete(value: PickleValue | undefined): boolean {
  if (isOf(value, 'BytesStorageMetadata')) return true;
  return isOf(value, 'TensorStorageMetadata') && attribute(value, 'chunks') !== undefined;
}
