import type { PickleValue } from '../encodings/pickle/value.ts';
import type { PickleResult } from '../encodings/pickle/walk.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import type { TorchStorage } from './tensor-storage.ts';

/**
 * The object that `torch.load` would return, as inert data, and the places of its tensors' bytes.
 */
export interface TorchObject {
  readonly container: 'zip' | 'legacy' | 'script';
  /** The object; undefined when the walk of its pickle did not reach the end. */
  readonly value: PickleValue | undefined;
  readonly pickle: PickleResult;
  readonly storages: ReadonlyMap<string, TorchStorage>;
  readonly source: ByteSource;
  /** False when the numbers in the storages are big-endian. */
  readonly littleEndian: boolean;
}
