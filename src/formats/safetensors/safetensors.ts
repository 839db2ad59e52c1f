import { excerpt } from '../../core/printable.ts';
import { needOfKey } from '../reading/content-names.ts';
import type { Findings } from '../reading/findings.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import { type Header, parseHeader } from './header.ts';
import { checkLayout } from './layout.ts';
import { needOfTensor } from '../reading/tensor-names.ts';
import { type ByteSource, u64le } from '../../bytes/source/byte-source.ts';
import type { FileFormat } from '../reading/format.ts';

const LENGTH_BYTES = 8;
/** The longest header that the safetensors library itself accepts. */
const MAX_HEADER_BYTES = 100_000_000;

/** The reader of single safetensors files. */
export const safetensors: FileFormat = {
  id: 'safetensors',
  title: 'safetensors file',
  extensions: ['.safetensors'],
  recognise(head) {
    if (head.length < LENGTH_BYTES + 2 || head[LENGTH_BYTES] !== 0x7b) return false;
    // Reject a length of eight text bytes before a brace: the file is JSON or source code, not
    // safetensors.
    return head.subarray(0, LENGTH_BYTES).some((byte) => byte < 0x09 || byte > 0x7e);
  },
  inspect(source, findings) {
    inspectSafetensors(source, findings);
  },
};

/** Inspects a safetensors file and returns its header, or null when the header is unreadable. */
export function inspectSafetensors(source: ByteSource, findings: Findings): Header | null {
  const length = readLength(source, findings);
  if (length === null) return null;
  const parsed = parseHeader(source.read(LENGTH_BYTES, length));
  if (!parsed.ok) {
    findings.add(
      parsed.limit ? 'LIMIT_EXCEEDED' : 'SAFETENSORS_HEADER_INVALID',
      { file: source.file, offset: source.base + LENGTH_BYTES + parsed.offset, found: parsed.reason },
      `the header of ${length} bytes cannot be parsed: ${parsed.reason}, ${parsed.offset} bytes into it`,
    );
    return null;
  }
  judgeHeader(parsed.header, source, length, findings);
  return parsed.header;
}

function readLength(source: ByteSource, findings: Findings): number | null {
  const head = source.read(0, LENGTH_BYTES);
  const length = head.length < LENGTH_BYTES ? 0 : u64le(head, 0);
  const where = { file: source.file, offset: source.base };
  if (length > MAX_HEADER_BYTES) {
    const shown = head.readBigUInt64LE(0);
    findings.add(
      'SAFETENSORS_HEADER_LENGTH',
      { ...where, expected: `at most ${MAX_HEADER_BYTES}`, found: String(shown) },
      `the file says that its header is ${shown} bytes long; the format allows ${MAX_HEADER_BYTES}`,
    );
    return null;
  }
  if (LENGTH_BYTES + length > source.size || head.length < LENGTH_BYTES) {
    findings.add(
      'SAFETENSORS_TRUNCATED',
      { ...where, expected: `at least ${LENGTH_BYTES + length} bytes`, found: `${source.size} bytes` },
      `the file ends inside its header: ${source.size} bytes are there, the header alone needs ${LENGTH_BYTES + length}`,
    );
    return null;
  }
  if (length > LIMITS.documentBytes) {
    findings.add(
      'LIMIT_EXCEEDED',
      { ...where, expected: `at most ${LIMITS.documentBytes}`, found: String(length) },
      `the header is ${length} bytes long; at most ${LIMITS.documentBytes} are read`,
    );
    return null;
  }
  return length;
}

function judgeHeader(header: Header, source: ByteSource, length: number, findings: Findings): void {
  const { file } = source;
  for (const { name, offset } of header.repeated) {
    findings.add(
      'SAFETENSORS_NAME_REPEATED',
      { file, offset: source.base + LENGTH_BYTES + offset, found: excerpt(name) },
      `the header names ${excerpt(name)} twice, so it is not certain which bytes belong to it`,
    );
  }
  const start = LENGTH_BYTES + length;
  const dataBytes = checkLayout(header.tensors, { file, start: source.base + start }, findings);
  checkFileSize(source, start + dataBytes, findings);
  findings.payloadBytes += Math.min(dataBytes, source.size);
  noteContent(header, file, findings);
}

function checkFileSize(source: ByteSource, expected: number, findings: Findings): void {
  if (source.size === expected) return;
  const isShort = source.size < expected;
  const difference = Math.abs(source.size - expected);
  findings.add(
    isShort ? 'SAFETENSORS_TRUNCATED' : 'SAFETENSORS_TRAILING',
    {
      file: source.file,
      offset: source.base + Math.min(source.size, expected),
      expected: `${expected} bytes`,
      found: `${source.size} bytes`,
    },
    isShort
      ? `the header describes ${expected} bytes, the file has ${source.size}: the last ${difference} are missing`
      : `the header describes ${expected} bytes, the file has ${source.size}: ${difference} more, and the loader refuses that`,
  );
}

function noteContent(header: Header, file: string, findings: Findings): void {
  for (const { name } of header.tensors) findings.content.add(needOfTensor(name), file);
  for (const [key, value] of header.metadata) {
    if (needOfKey(key) === 'step' && /^\d{1,15}$/.test(value)) {
      findings.content.addStep(Number(value), file, `${file}: __metadata__ ${excerpt(key)}`);
    }
  }
}
