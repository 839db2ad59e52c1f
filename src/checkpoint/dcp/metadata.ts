import { asDict, asString, attribute, argsOf, callOf, type PickleValue, typeName } from '../pickle/value.ts';
import type { Chunks } from './chunks.ts';
import type { StoredTable } from './stored-table.ts';
import type { MetadataStream } from './metadata-stream.ts';

export interface TensorItem {
  /** Element type without the module: `float32`; null when it is not a plain one. */
  readonly dtype: string | null;
  readonly size: readonly number[];
  readonly chunks: Chunks;
}

/** What `.metadata` says: which tensors and objects there are, and where their bytes lie. */
export interface DcpMetadata {
  readonly tensors: ReadonlyMap<string, TensorItem>;
  readonly objects: ReadonlySet<string>;
  readonly stored: StoredTable;
  /** Last part of the path it was saved to. */
  readonly savedAs: string | null;
}

/** A part of the metadata that is not of the shape the writer gives it, or of which there is too much. */
export interface Misshapen {
  readonly misshapen: string;
  readonly limit: boolean;
}

const METADATA = 'torch.distributed.checkpoint.metadata.Metadata';

/** Takes from the inert pickle what a reader of the checkpoint would need: from the tree, and from what `stream` took out of it on the way. */
export function readDcpMetadata(value: PickleValue, stream: MetadataStream): DcpMetadata | Misshapen {
  if (typeName(value) !== METADATA) return misshapen(`an object of type ${typeName(value) ?? 'other than Metadata'}`);
  const items = asDict(attribute(value, 'state_dict_metadata'));
  const storage = asDict(attribute(value, 'storage_data'));
  if (items === null || storage === null) return misshapen('no state_dict_metadata or no storage_data');
  const fault = stream.finishItems(items) ?? stream.finishStorage(storage);
  if (fault !== null) return fault;
  const savedAs = readPath(attribute(attribute(value, 'storage_meta'), 'checkpoint_id'));
  return { ...stream.itemsOf(items), stored: stream.storedOf(storage), savedAs };
}

export function misshapen(what: string, limit = false): Misshapen {
  return { misshapen: what, limit };
}

/** Text, or a path object, which is pickled as a call with the parts of the path. */
function readPath(value: PickleValue | undefined): string | null {
  const call = callOf(value);
  const path = call === null ? asString(value) : asString(argsOf(call).at(-1));
  return path?.replace(/\/$/, '').split('/').at(-1) ?? null;
}
