import type { Findings } from '../reading/findings.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import { isTorchLegacy, readTorchLegacy } from './legacy.ts';
import type { TorchObject } from './torch-object.ts';
import { isTorchZip, readTorchZip } from './zip.ts';

/**
 * Reads a file of `torch.save`, zip or legacy, and returns its object. It adds to the findings:
 * problems, checksums, payload bytes, and the names that a load would import.
 * `describeTorchContent` describes the content. Returns null, with evidence, when the file is of
 * neither kind or its object is unreadable.
 */
export function readTorchObject(source: ByteSource, findings: Findings): TorchObject | null {
  const head = source.read(0, 4096);
  if (isTorchLegacy(head)) return readTorchLegacy(source, findings);
  if (isTorchZip(head, source)) return readTorchZip(source, findings);
  findings.add('FILE_UNRECOGNISED', { file: source.file, offset: source.base }, 'the bytes are not a file of torch.save');
  return null;
}
