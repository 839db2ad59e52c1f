import type { Findings } from '../findings.ts';
import type { PickleValue } from '../pickle/value.ts';
import type { ByteSource } from '../source/byte-source.ts';
import type { Directory } from '../source/directory.ts';
import { checkConsistency, checkSavedAs, type Scope } from './consistency.ts';
import { Counters, noteNames, noteObject } from './content.ts';
import type { DcpMetadata } from './metadata.ts';
import { inspectObjectSlice } from './objects.ts';
import { Places } from './places.ts';
import { openDcpMetadata } from './read-metadata.ts';
import { openShard, reportNewerThanMarker } from './shard-files.ts';
import { inspectTensorSlice } from './slices.ts';

/** What whoever owns the checkpoint wants to hear while it is read. */
export interface DcpListener {
  /** Called with each object that is no tensor. */
  readonly onObject?: (name: string, value: PickleValue, file: string) => void;
  /** Called with each shard file and how many bytes of tensors are in it. */
  readonly onShard?: (file: string, payloadBytes: number) => void;
}

export interface DcpOptions extends DcpListener {
  readonly scope: Scope;
}

/** What the caller may need of a part of a distributed checkpoint that was inspected. */
export interface DcpPart {
  readonly metadata: DcpMetadata;
  /** Names of the shard files it uses. */
  readonly files: ReadonlySet<string>;
}

/** Inspects a metadata file and every shard it names. Null, with evidence, when there is nothing to go by. */
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
      // What lies over the item in front of it was told; reading the same bytes again, perhaps very often, would prove nothing.
      if (stored.endOf(item) <= shard.size && stored.startOf(item) >= end) this.#readItem(item, shard);
      end = Math.max(end, stored.endOf(item));
    }
    this.#options.onShard?.(shard.file, this.#findings.payloadBytes - before);
  }

  #readItem(index: number, shard: ByteSource): void {
    const findings = this.#findings;
    const item = this.#metadata.stored.at(index);
    // What an extension made of the bytes (compression, say) cannot be looked into.
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
