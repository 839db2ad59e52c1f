import { isArray, isObject, type Json, type JsonObject } from '../../core/json.ts';

/** One array of the saved tree. */
export interface TreeArray {
  /** The keys that lead to it, joined by dots: its name in the store. */
  readonly name: string;
  readonly keys: readonly string[];
  readonly isScalar: boolean;
}

/** What `_METADATA` says about an item: the tree that was saved, and how it is stored. */
export interface TreeMetadata {
  readonly arrays: readonly TreeArray[];
  /** Null where the version that wrote it did not say. */
  readonly usesOcdbt: boolean | null;
  readonly zarrVersion: 2 | 3;
  /** Every chunk is written, also one that holds only the fill value. */
  readonly storesEveryChunk: boolean;
}

/**
 * Values of these types lie in arrays; others are empty containers, placeholders, or stored
 * elsewhere.
 */
const ARRAY_TYPES = new Set<Json | undefined>(['jax.Array', 'np.ndarray', 'scalar']);

/** Null when the document is not such a description. */
export function parseTreeMetadata(json: Json): TreeMetadata | null {
  if (!isObject(json) || !isObject(json['tree_metadata'])) return null;
  const arrays: TreeArray[] = [];
  for (const leaf of Object.values(json['tree_metadata'])) {
    const array = isObject(leaf) ? arrayOfLeaf(leaf) : null;
    if (array !== null) arrays.push(array);
  }
  const { use_ocdbt: usesOcdbt } = json;
  return {
    arrays,
    usesOcdbt: typeof usesOcdbt === 'boolean' ? usesOcdbt : null,
    zarrVersion: json['use_zarr3'] === true ? 3 : 2,
    storesEveryChunk: json['store_array_data_equal_to_fill_value'] === true,
  };
}

function arrayOfLeaf(leaf: JsonObject): TreeArray | null {
  const { key_metadata: path, value_metadata: value } = leaf;
  if (!isArray(path) || !isObject(value)) return null;
  if (!ARRAY_TYPES.has(value['value_type']) || value['skip_deserialize'] === true) return null;
  const keys = path.map(textOfKey);
  return { name: keys.join('.'), keys, isScalar: value['value_type'] === 'scalar' };
}

/** Keys of dictionaries are texts, keys of lists are numbers. */
function textOfKey(part: Json): string {
  const key = isObject(part) ? part['key'] : null;
  return typeof key === 'string' || typeof key === 'number' ? String(key) : '';
}
