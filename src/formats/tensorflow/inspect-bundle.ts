import { hex32 } from '../../core/checksums.ts';
import { excerpt, printable } from '../../core/printable.ts';
import type { Findings, Where } from '../reading/findings.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import { type BundleEntry, type BundleHeader, DTYPE, readEntry, readHeader, widthOf } from './bundle.ts';
import { needOfTensor, plainKey, stepRank } from './bundle-content.ts';
import { Shard } from './shard.ts';
import { readSortedTable, type TableProblem } from './sorted-table.ts';
import { readStringTensor } from './string-tensor.ts';
import { tensorName } from './tensor-name.ts';

/** Gives the data file of a shard, or null when there is none. */
export type ShardOpener = (shard: number, shards: number) => ByteSource | null;

/**
 * Reads an index and compares it with its data files. Returns its header, null when it has none
 * that can be read.
 */
export function inspectBundle(index: ByteSource, openShard: ShardOpener, findings: Findings): BundleHeader | null {
  const bundle = new Bundle(index, openShard, findings);
  const problem = readSortedTable(index, (key, value) => bundle.visit(key, value));
  if (problem !== null) reportProblem(problem, index, findings);
  bundle.finish(problem === null);
  return bundle.header;
}

const PROBLEM_CODES = {
  cut: 'TENSORFLOW_INDEX_CUT',
  trailing: 'TENSORFLOW_INDEX_TRAILING',
  corrupt: 'TENSORFLOW_INDEX_CORRUPT',
  limit: 'LIMIT_EXCEEDED',
} as const;

function reportProblem({ kind, says, ...where }: TableProblem, index: ByteSource, findings: Findings): void {
  findings.add(PROBLEM_CODES[kind], { file: index.file, ...where }, `${printable(index.file)} ${says}`);
}

class Bundle {
  header: BundleHeader | null = null;
  readonly #index: ByteSource;
  readonly #openShard: ShardOpener;
  readonly #findings: Findings;
  readonly #shards = new Map<number, Shard | null>();
  /**
   * Slices that partitioned tensors still miss, by name; below zero while their slices come before
   * them.
   */
  readonly #missingSlices = new Map<string, number>();
  #step: { readonly rank: number; readonly value: number; readonly where: string; readonly file: string } | null = null;

  constructor(index: ByteSource, openShard: ShardOpener, findings: Findings) {
    this.#index = index;
    this.#openShard = openShard;
    this.#findings = findings;
  }

  visit(key: Buffer, value: Buffer): void {
    if (this.header === null) {
      this.header = this.#readHeader(key, value);
      return;
    }
    if (this.header.shards === 0) return;
    const { name, isSlice } = tensorName(key);
    const entry = readEntry(value);
    if (entry === null) {
      this.#report('TENSORFLOW_INDEX_CORRUPT', {}, `has an entry for ${excerpt(name)} that cannot be read`);
      return;
    }
    this.#countSlices(name, entry.slices - (isSlice ? 1 : 0));
    const need = needOfTensor(name, entry.dtype);
    if (need !== null && need !== 'step') this.#findings.content.add(need, excerpt(plainKey(name)));
    if (entry.slices === 0) this.#addTensor(name, entry, this.header);
  }

  /**
   * Without a header that makes sense there are no data files, and what follows is not looked at.
   */
  #readHeader(key: Buffer, value: Buffer): BundleHeader {
    const header = key.length === 0 ? readHeader(value) : null;
    if (header !== null && header.shards > 0 && Number.isFinite(header.shards)) return header;
    this.#report('TENSORFLOW_INDEX_CORRUPT', {}, 'does not begin with the header of a checkpoint');
    return { shards: 0, isBigEndian: false };
  }

  #countSlices(name: string, change: number): void {
    if (change !== 0) this.#missingSlices.set(name, (this.#missingSlices.get(name) ?? 0) + change);
  }

  finish(isComplete: boolean): void {
    if (this.header === null && isComplete) this.#report('TENSORFLOW_INDEX_CORRUPT', {}, 'holds nothing, not even a header');
    if (!isComplete) return;
    for (const shard of this.#shards.values()) shard?.report(this.#findings);
    for (const [name, missing] of this.#missingSlices) {
      if (missing > 0) this.#report('TENSORFLOW_SLICE_MISSING', {}, `lists ${missing} slices too few of ${excerpt(name)}`);
    }
    if (this.#step !== null) this.#findings.content.addStep(this.#step.value, this.#step.file, this.#step.where);
  }

  #addTensor(name: string, entry: BundleEntry, header: BundleHeader): void {
    const width = widthOf(entry.dtype);
    const size = width === null ? entry.size : entry.elements * width;
    if (entry.size !== size || !Number.isSafeInteger(entry.offset + entry.size)) {
      const sizes = { expected: `${size} bytes`, found: `${entry.size} bytes` };
      this.#report('TENSORFLOW_ENTRY_INVALID', sizes, `gives ${excerpt(name)} ${entry.size} bytes, its type and shape need ${size}`);
      return;
    }
    if (entry.shard >= header.shards) {
      const found = { expected: `below ${header.shards}`, found: String(entry.shard) };
      this.#report('TENSORFLOW_ENTRY_INVALID', found, `puts ${excerpt(name)} into data file ${entry.shard} of ${header.shards}`);
      return;
    }
    this.#findings.payloadBytes += entry.size;
    const shard = this.#shard(entry.shard, header);
    if (shard?.add(entry) !== true) return;
    if (entry.dtype === DTYPE.string) this.#addStrings(name, entry, shard, header);
    // A variant tensor's checksum runs over decoded lengths between its parts, and the lengths lie
    // amid the payload, where quick does not read; its bytes count as payload that nothing vouches
    // for.
    else if (entry.dtype !== DTYPE.variant) this.#addCheck(name, entry, shard);
    this.#readStep(name, entry, shard, header);
  }

  #addCheck(name: string, entry: BundleEntry, shard: Shard): void {
    if (entry.size === 0) return;
    this.#findings.addCheck({
      algorithm: 'crc32c-masked',
      file: shard.source.file,
      offset: entry.offset,
      length: entry.size,
      encoding: 'stored',
      decodedLength: entry.size,
      expected: hex32(entry.checksum),
      what: `tensor ${excerpt(name)}`,
      code: 'TENSORFLOW_CHECKSUM',
      payloadBytes: entry.size,
    });
  }

  #addStrings(name: string, entry: BundleEntry, shard: Shard, { isBigEndian }: BundleHeader): void {
    if (entry.size === 0) return;
    const { file } = shard.source;
    const read = readStringTensor(shard.source.slice(entry.offset, entry.size), entry, { isBigEndian, maxBytes: shard.stringBudget });
    if (read.kind === 'corrupt') {
      const { kind: _, says, ...seen } = read;
      const message = `${printable(file)}: ${excerpt(name)} ${says}`;
      this.#findings.add('TENSORFLOW_STRINGS_CORRUPT', { file, offset: entry.offset, ...seen }, message);
    }
    if (read.kind !== 'text') return;
    const { offset, length, checksum } = read.text;
    shard.stringBudget = Math.max(0, shard.stringBudget - offset);
    this.#findings.addCheck({
      algorithm: 'crc32c',
      file,
      offset: entry.offset + offset,
      length,
      encoding: 'stored',
      decodedLength: length,
      expected: hex32(checksum),
      what: `text of tensor ${excerpt(name)}`,
      code: 'TENSORFLOW_CHECKSUM',
      payloadBytes: entry.size,
    });
  }

  /**
   * The counter that names the step best wins; others (an optimizer's under gradient accumulation)
   * may rightly differ from it.
   */
  #readStep(name: string, entry: BundleEntry, shard: Shard, { isBigEndian }: BundleHeader): void {
    const rank = stepRank(name);
    const isCounter = entry.elements === 1 && (entry.dtype === DTYPE.int64 || entry.dtype === DTYPE.int32);
    if (!isCounter || rank <= (this.#step?.rank ?? 0)) return;
    const bytes = Buffer.from(shard.source.read(entry.offset, entry.size));
    if (isBigEndian) bytes.reverse();
    const value = entry.dtype === DTYPE.int64 ? Number(bytes.readBigInt64LE(0)) : bytes.readInt32LE(0);
    this.#step = { rank, value, where: excerpt(plainKey(name)), file: shard.source.file };
  }

  #shard(number: number, { shards }: BundleHeader): Shard | null {
    const known = this.#shards.get(number);
    if (known !== undefined) return known;
    const source = this.#openShard(number, shards);
    const shard = source === null ? null : new Shard(source);
    this.#shards.set(number, shard);
    return shard;
  }

  #report(code: Parameters<Findings['add']>[0], where: Omit<Where, 'file'>, says: string): void {
    this.#findings.add(code, { file: this.#index.file, ...where }, `${printable(this.#index.file)} ${says}`);
  }
}
