import type { Findings } from '../findings.ts';
import type { PickleValue } from '../pickle/value.ts';
import type { PickleResult } from '../pickle/walk.ts';
import type { ByteSource } from '../source/byte-source.ts';
import { isTorchLegacy, readTorchLegacy } from '../torch/legacy.ts';
import type { TorchStorage } from '../torch/storage.ts';
import { isTorchZip, readTorchZip } from '../torch/zip.ts';

/** What `torch.load` would give, as inert data, and where the tensors' bytes lie. */
export interface TorchObject {
  readonly container: 'zip' | 'legacy' | 'script';
  /** The object; undefined when its pickle could not be walked to the end. */
  readonly value: PickleValue | undefined;
  readonly pickle: PickleResult;
  readonly storages: ReadonlyMap<string, TorchStorage>;
  readonly source: ByteSource;
  /** False when the numbers in the storages are big-endian. */
  readonly littleEndian: boolean;
}

/**
 * Reads a file of `torch.save`, zip or legacy: adds what is wrong with it, its checksums, its payload bytes and the names a load would
 * import to the findings, and gives back the object. It says nothing about content: `describeTorchContent` does. Null, with evidence,
 * when the file is of neither kind or has no object that could be read.
 */
export function readTorchObject(source: ByteSource, findings: Findings): TorchObject | null {
  const head = source.read(0, 4096);
  if (isTorchLegacy(head)) return readTorchLegacy(source, findings);
  if (isTorchZip(head, source)) return readTorchZip(source, findings);
  findings.add('FILE_UNRECOGNISED', { file: source.file, offset: source.base }, 'the bytes are not those of a file of torch.save');
  return null;
}
