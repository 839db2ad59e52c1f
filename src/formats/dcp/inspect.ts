import type { Findings } from '../reading/findings.ts';
import type { PickleValue } from '../encodings/pickle/value.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { checkConsistency, checkSavedAs, type Scope } from './consistency.ts';
import { Counters, noteNames, noteObject } from './dcp-content.ts';
import type { DcpMetadata } from './dcp-metadata.ts';
import { inspectObjectSlice } from './object-slice.ts';
import { Places } from './item-places.ts';
import { openDcpMetadata } from './read-metadata.ts';
import { openShard, reportNewerThanMarker } from './shard-files.ts';
import { inspectTensorSlice } from './slices.ts';

/** Callbacks that the owner of the checkpoint receives while the reader inspects it. */
export interface DcpListener {
  /** Called with each object that is not a tensor. */
  readonly onObject?: (name: string, value: PickleValue, file: string) => void;
  /** Called with each shard file and the bytes of tensor data in it. */
  readonly onShard?: (file: string, payloadBytes: number) => void;
}

/** The options of a reader that inspects a distributed checkpoint. */
export interface DcpOptions extends DcpListener {
  readonly scope: Scope;
}

/** The result of inspecting a distributed checkpoint, for a caller whose checkpoint contains it. */
export interface DcpPart {
  readonly metadata: DcpMetadata;
  /** Names of the shard files it uses. */
  readonly files: ReadonlySet<string>;
}

/**
 * Inspects a metadata file and every shard it names. Returns null, with evidence, when the metadata
 * is unusable.
 */
export function inspectDcpMetadata(directory: Directory, name: string, findings: Findings, options: DcpOptions): DcpPart | null {
  const metadata = openDcpMetadata(directory, name, findings);
  if (metadata === null) return null;
  const file = directory.pathOf(name);
  const places = new Places(metadata.stored);
  checkConsistency(metadata, places, { file, scope: options.scope }, findings);
  checkSavedAs(metadata, directory, file, findings);
  noteNames(metadata, file, findings);
  const files = metadata.stored.byFile();
  const reader = new ShardReader({ metadata, places }, findings, options);
  for (const [shardName, items] of files) {
    const shard = openShard(directory, { name: shardName, stored: metadata.stored, items }, findings);
    if (shard !== null) reader.read(shard, items);
  }
  reader.finish();
  reportNewerThanMarker(directory, name, files.keys(), findings);
  return { metadata, files: new Set(files.keys()) };
}

class ShardReader {
  readonly #metadata: DcpMetadata;
  readonly #places: Places;
  readonly #findings: Findings;
  readonly #options: DcpOptions;
  readonly #counters = new Counters();

  constructor(of: { readonly metadata: DcpMetadata; readonly places: Places }, findings: Findings, options: DcpOptions) {
    this.#metadata = of.metadata;
    this.#places = of.places;
    this.#findings = findings;
    this.#options = options;
  }

  read(shard: ByteSource, items: Int32Array): void {
    const before = this.#findings.payloadBytes;
    const { stored } = this.#metadata;
    let end = 0;
    for (const item of items) {
      // Skip items that overlap the item in front, because the overlap is already reported. Reading
      // the same bytes again and again would prove nothing.
      if (stored.endOf(item) <= shard.size && stored.startOf(item) >= end) this.#readItem(item, shard);
      end = Math.max(end, stored.endOf(item));
    }
    this.#options.onShard?.(shard.file, this.#findings.payloadBytes - before);
  }

  #readItem(index: number, shard: ByteSource): void {
    const findings = this.#findings;
    const item = this.#metadata.stored.at(index);
    // Skip transformed items: the reader cannot decode the output of an extension (compression,
    // say).
    if (item.isTransformed) {
      findings.payloadBytes += item.length;
      return;
    }
    const source = shard.slice(item.start, item.length);
    const tensor = this.#metadata.tensors.get(item.name);
    if (tensor !== undefined) {
      const expected = { dtype: tensor.dtype, elements: this.#places.elementsAt(index, tensor) };
      const slice = inspectTensorSlice(source, item, expected, findings);
      if (slice !== null) this.#counters.note(slice, tensor, findings);
      return;
    }
    const value = inspectObjectSlice(source, item, findings);
    if (value === undefined) return;
    noteObject(item.name, value, source.file, findings);
    this.#options.onObject?.(item.name, value, source.file);
  }

  finish(): void {
    this.#counters.report(this.#findings);
    if (this.#findings.payloadBytes > 0 && this.#findings.coverage.checks === 0) {
      const message = 'the shard files carry no checksums: the writer had them switched off';
      this.#findings.add('TORCH_NO_CHECKSUMS', { file: null }, message);
    }
  }
}
