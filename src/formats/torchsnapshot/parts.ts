import { excerpt, printable } from '../../core/printable.ts';
import { volume } from '../dcp/chunks.ts';
import { Findings } from '../reading/findings.ts';
import { readTorchObject } from '../torch/read-torch-object.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import { stateOfName } from '../reading/tensor-names.ts';
import { TORCH_DTYPE_BYTES } from '../reading/torch-dtypes.ts';
import type { StoredPart } from './snapshot-manifest.ts';

const SAMPLE_BYTES = 4096;
/** Smaller files are left alone: a counter or a bias is zero often enough. */
const SMALLEST_TELLING = 512;

/** Checks the parts of one file against its size, and looks into those that are torch files. */
export function inspectParts(source: ByteSource, parts: readonly StoredPart[], findings: Findings): void {
  const sorted = parts.toSorted((a, b) => (a.range?.[0] ?? 0) - (b.range?.[0] ?? 0));
  let end = 0;
  for (const part of sorted) {
    const [begin, partEnd] = part.range ?? [0, source.size];
    if (begin < end) reportOverlap(source, part, end, findings);
    end = Math.max(end, partEnd);
    if (partEnd > source.size) reportTruncated(source, part, partEnd, findings);
    else inspectPart(source.slice(begin, partEnd - begin), part, findings);
  }
  if (isUnwritten(source)) reportZeros(source, parts, findings);
  if (end < source.size) {
    const where = { file: source.file, offset: end, expected: `${end} bytes`, found: `${source.size} bytes` };
    findings.add(
      'TORCHSNAPSHOT_TRAILING',
      where,
      `${printable(source.file)} has ${source.size - end} bytes more than the manifest accounts for`,
    );
  }
}

/**
 * True when the file holds zeros wherever it is looked at: at its beginning, in the middle, at its
 * end.
 */
function isUnwritten(source: ByteSource): boolean {
  if (source.size < SMALLEST_TELLING) return false;
  const places = [0, Math.floor(source.size / 2), Math.max(0, source.size - SAMPLE_BYTES)];
  return places.every((offset) => source.read(offset, SAMPLE_BYTES).every((byte) => byte === 0));
}

/**
 * A tensor may really be zero. A random state never is, and several tensors in a row hardly ever.
 */
function reportZeros(source: ByteSource, parts: readonly StoredPart[], findings: Findings): void {
  const isCertain = parts.length > 1 || parts.some(({ path }) => stateOfName(path.replace(/^\d+\//, ''), 2) === 'rng');
  const message = `${printable(source.file)} holds zeros wherever it was looked at`;
  findings.add(isCertain ? 'FILE_ALL_ZERO' : 'TORCHSNAPSHOT_ZEROS', { file: source.file, offset: 0 }, message);
}

function inspectPart(source: ByteSource, part: StoredPart, findings: Findings): void {
  if (part.serializer === 'torch_save') {
    inspectTorchFile(source, findings);
    return;
  }
  findings.payloadBytes += source.size;
  const width = part.serializer === 'buffer_protocol' ? TORCH_DTYPE_BYTES.get(part.dtype ?? '') : undefined;
  if (width === undefined) return;
  const needed = volume(part.shape) * width;
  if (source.size === needed) return;
  if (source.size < needed && part.range === null) {
    reportTruncated(source, part, needed, findings);
    return;
  }
  const where = { file: source.file, offset: source.base, expected: `${needed} bytes`, found: `${source.size} bytes` };
  const message = `${excerpt(part.path)} of shape [${excerpt(part.shape.join(', '))}] needs ${needed} bytes, there are ${source.size}`;
  findings.add('TORCHSNAPSHOT_SIZE', where, message);
}

/**
 * An object alone. That the writer stored no checksums with it says nothing here: the tensors have
 * none either.
 */
function inspectTorchFile(source: ByteSource, findings: Findings): void {
  const member = new Findings();
  if (source.size === 0) member.add('FILE_EMPTY', { file: source.file }, `${printable(source.file)} has no bytes`);
  else readTorchObject(source, member);
  const kept = member.evidence.filter(({ code }) => code !== 'TORCH_NO_CHECKSUMS');
  for (const { code, effect: _, message, ...where } of kept) findings.add(code, where, message);
  for (const check of member.checks) findings.addCheck(check);
  for (const [name, uses] of member.globals) findings.addGlobal(name, uses);
  findings.payloadBytes += member.payloadBytes;
}

function reportTruncated(source: ByteSource, part: StoredPart, end: number, findings: Findings): void {
  const where = { file: source.file, offset: source.size, expected: `${end} bytes`, found: `${source.size} bytes` };
  const message = `${printable(source.file)} has ${source.size} bytes, ${excerpt(part.path)} needs it to have ${end}`;
  findings.add('TORCHSNAPSHOT_TRUNCATED', where, message);
}

function reportOverlap(source: ByteSource, part: StoredPart, end: number, findings: Findings): void {
  const where = { file: source.file, offset: part.range?.[0] ?? 0, expected: String(end) };
  const message = `${excerpt(part.path)} shares bytes of ${printable(source.file)} with what lies in front of it`;
  findings.add('TORCHSNAPSHOT_OVERLAP', where, message);
}
