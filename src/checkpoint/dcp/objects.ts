import { Findings } from '../findings.ts';
import { readTorchObject } from '../formats/torch-object.ts';
import { reportPickle } from '../pickle/report.ts';
import type { PickleValue } from '../pickle/value.ts';
import { walkPickle } from '../pickle/walk.ts';
import type { ByteSource } from '../source/byte-source.ts';
import { isTorchLegacy } from '../torch/legacy.ts';
import type { StoredItem } from './stored-table.ts';
import { isTorchSlice, reportForeign } from './slices.ts';

/** Reads an object that is no tensor: a torch file, or a plain pickle. Undefined, with evidence, when it cannot be read. */
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

/** That a writer stored no checksums is told once for the whole checkpoint, not for every item. */
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
