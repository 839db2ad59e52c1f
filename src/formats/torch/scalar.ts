import type { TorchObject } from './torch-object.ts';
import { argsOf, asInt, asItems, callOf, isNode, type PickleCall, type PickleValue, typeName } from '../encodings/pickle/value.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import { SCALAR_KINDS } from '../reading/element-sizes.ts';
import { storageOf, type TorchStorage } from './tensor-storage.ts';

const TENSORS = new Set(['torch._utils._rebuild_tensor', 'torch._utils._rebuild_tensor_v2']);
const PARAMETERS = new Set(['torch._utils._rebuild_parameter', 'torch._utils._rebuild_parameter_with_state']);

/**
 * Reads the number in a tensor of one element, such as the step counter of an optimizer. It reads
 * at most eight bytes. Returns null for any other value and for element types that are not plain
 * numbers.
 */
export function readScalar(object: TorchObject, tensor: PickleValue | undefined): number | null {
  const call = unwrap(tensor);
  if (call === null) return null;
  const [reference, offset, shape] = argsOf(call);
  if (!isNode(reference) || reference.kind !== 'persistent') return null;
  const named = storageOf(reference);
  const storage = named === 'class' || 'problem' in named ? undefined : object.storages.get(named.key);
  const index = asInt(offset);
  const dimensions = asItems(shape);
  if (storage === undefined || storage.offset === null || index === null || dimensions === null) return null;
  if (!dimensions.every((size) => size === 1) || index < 0 || index >= storage.elements) return null;
  return readElement(object, storage, storage.offset + index * storage.elementBytes);
}

/** Returns the call that makes the tensor, also when a parameter wraps it. */
function unwrap(tensor: PickleValue | undefined): PickleCall | null {
  const parameter = PARAMETERS.has(typeName(tensor) ?? '') ? callOf(tensor) : null;
  const inner = parameter === null ? tensor : argsOf(parameter)[0];
  return TENSORS.has(typeName(inner) ?? '') ? callOf(inner) : null;
}

function readElement(
  { source, littleEndian }: { source: ByteSource; littleEndian: boolean },
  storage: TorchStorage,
  at: number,
): number | null {
  const bytes = Buffer.from(source.read(at, storage.elementBytes));
  if (bytes.length < storage.elementBytes) return null;
  if (!littleEndian) bytes.reverse();
  const kind = SCALAR_KINDS[storage.type];
  if (kind === 'float') return bytes.length === 8 ? bytes.readDoubleLE() : bytes.readFloatLE();
  if (kind === 'bfloat16') return Buffer.concat([Buffer.alloc(2), bytes]).readFloatLE();
  if (kind === 'unsigned') return bytes.readUIntLE(0, bytes.length);
  if (kind !== 'signed') return null;
  return bytes.length === 8 ? Number(bytes.readBigInt64LE()) : bytes.readIntLE(0, bytes.length);
}
