import { Findings } from '../reading/findings.ts';
import { readTorchObject } from '../torch/read-torch-object.ts';
import { reportPickle } from '../encodings/pickle/report-walk.ts';
import type { PickleValue } from '../encodings/pickle/value.ts';
import { walkPickle } from '../encodings/pickle/walk.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import { isTorchLegacy } from '../torch/legacy.ts';
import type { StoredItem } from './stored-table.ts';
import { isTorchSlice, reportForeign } from './slices.ts';

/**
 * Reads an object that is not a tensor: a torch file, or a plain pickle. Returns undefined, with
 * evidence, when it is unreadable.
 */
export function inspectObjectSlice(source: ByteSource, item: StoredItem, findings: Findings): PickleValue | undefined {
  const head = source.read(0, 16);
  if (isTorchSlice(source) || isTorchLegacy(head)) return readTorch(source, findings);
  if (head[0] !== 0x80) {
    reportForeign(source, item, findings);
    return undefined;
  }
  const result = walkPickle(source);
  reportPickle(result, source, findings);
  findings.payloadBytes += source.size;
  return result.value;
}

/** Report absent checksums once for the whole checkpoint, not for every item. */
function readTorch(source: ByteSource, findings: Findings): PickleValue | undefined {
  const member = new Findings();
  const object = readTorchObject(source, member);
  for (const { code, effect: _, message, ...where } of member.evidence) {
    if (code !== 'TORCH_NO_CHECKSUMS') findings.add(code, where, message);
  }
  for (const check of member.checks) findings.addCheck(check);
  for (const [name, uses] of member.globals) findings.addGlobal(name, uses);
  findings.payloadBytes += member.payloadBytes;
  return object?.value;
}
