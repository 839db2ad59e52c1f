import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import type { Check } from '../../src/bytes/hashing/check.ts';
import { Findings } from '../../src/formats/reading/findings.ts';
import type { FileFormat } from '../../src/formats/reading/format.ts';
import { probe } from '../../src/formats/recognise.ts';
import { memorySource } from '../../src/bytes/source/byte-source.ts';
import { crc32, hex32 } from '../../src/core/checksums.ts';
import { WHOLE } from './fixtures.ts';

export interface Inspected {
  readonly recognised: boolean;
  readonly findings: Findings;
  readonly codes: readonly string[];
  /** The CRC-32 checksums that do not match the bytes. */
  readonly failed: readonly string[];
}

/** Reads bytes with one format, and compares the checksums it lists. */
export function inspectBytes(format: FileFormat, bytes: Buffer): Inspected {
  const source = memorySource(bytes, 'file');
  const findings = new Findings();
  const recognised = format.recognise(source.read(0, 4096), source);
  if (recognised) format.inspect(source, findings, probe);
  const failed = findings.checks.filter((check) => !holds(check, bytes)).map(({ what }) => what);
  return { recognised, findings, codes: findings.evidence.map(({ code }) => code), failed };
}

function holds({ offset, length, encoding, decodedLength, expected }: Check, bytes: Buffer): boolean {
  const stored = bytes.subarray(offset, offset + length);
  try {
    const data = encoding === 'stored' ? stored : inflateRawSync(stored, { maxOutputLength: decodedLength + 1 });
    return data.length === decodedLength && hex32(crc32(data)) === expected;
  } catch {
    return false;
  }
}

/** A file of an intact fixture, as a copy that the test may change. */
export function fixtureBytes(id: string, file: string): Buffer {
  return readFileSync(join(WHOLE, id, 'data', file));
}
