import type { Findings } from '../findings.ts';
import type { PickleValue } from '../pickle/value.ts';
import type { Directory } from '../source/directory.ts';
import { checkConsistency, type Scope } from './consistency.ts';
import { Counters, noteNames, noteObject } from './content.ts';
import type { DcpMetadata } from './metadata.ts';
import { inspectObjectSlice } from './objects.ts';
import { openDcpMetadata } from './read-metadata.ts';
import { itemsByFile, openShard, reportNewerThanMarker, type ShardFile } from './shard-files.ts';
import { inspectTensorSlice, sliceSource } from './slices.ts';

export interface DcpOptions {
  readonly scope: Scope;
  /** Called with each object that is no tensor. */
  readonly onObject?: (name: string, value: PickleValue, file: string) => void;
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
  checkConsistency(metadata, file, options.scope, findings);
  noteNames(metadata, file, findings);
  const files = itemsByFile(metadata.stored);
  const reader = new ShardReader(metadata, findings, options);
  for (const [shardName, items] of files) {
    const shard = openShard(directory, shardName, items, findings);
    if (shard !== null) reader.read(shard);
  }
  reader.finish();
  reportNewerThanMarker(directory, name, files.keys(), findings);
  return { metadata, files: new Set(files.keys()) };
}

class ShardReader {
  readonly #metadata: DcpMetadata;
  readonly #findings: Findings;
  readonly #options: DcpOptions;
  readonly #counters = new Counters();

  constructor(metadata: DcpMetadata, findings: Findings, options: DcpOptions) {
    this.#metadata = metadata;
    this.#findings = findings;
    this.#options = options;
  }

  read({ source: shard, items }: ShardFile): void {
    const findings = this.#findings;
    for (const item of items) {
      if (item.isTransformed) {
        findings.payloadBytes += item.length;
        continue;
      }
      const source = sliceSource(shard, item);
      const tensor = this.#metadata.tensors.get(item.name);
      if (tensor !== undefined) {
        const slice = inspectTensorSlice(source, item, tensor, findings);
        if (slice !== null) this.#counters.note(slice, tensor, findings);
        continue;
      }
      const value = inspectObjectSlice(source, item, findings);
      if (value === undefined) continue;
      noteObject(item.name, value, shard.file, findings);
      this.#options.onObject?.(item.name, value, shard.file);
    }
  }

  finish(): void {
    this.#counters.report(this.#findings);
    if (this.#findings.payloadBytes > 0 && this.#findings.checks.length === 0) {
      const message = 'the shard files carry no checksums: the writer had them switched off';
      this.#findings.add('TORCH_NO_CHECKSUMS', { file: null }, message);
    }
  }
}
