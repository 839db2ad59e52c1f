import { asDict, asString, attribute, argsOf, callOf, type PickleValue, typeName } from '../encodings/pickle/value.ts';
import { type DcpMetadata, type Misshapen, misshapen } from './dcp-metadata.ts';
import type { MetadataStream } from './metadata-stream.ts';

const METADATA = 'torch.distributed.checkpoint.metadata.Metadata';

/**
 * Builds the metadata from the inert pickle: from the tree, and from the columns that `stream`
 * collected during the walk.
 */
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

/** Text, or a path object, which is pickled as a call with the parts of the path. */
function readPath(value: PickleValue | undefined): string | null {
  const call = callOf(value);
  const path = call === null ? asString(value) : asString(argsOf(call).at(-1));
  return path?.replace(/\/$/, '').split('/').at(-1) ?? null;
}
