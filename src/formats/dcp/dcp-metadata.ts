import type { Chunks } from './chunks.ts';
import type { StoredTable } from './stored-table.ts';

/** One tensor of the checkpoint, and where its pieces lie. */
export interface TensorItem {
  /** Element type without the module: `float32`; null for any other type. */
  readonly dtype: string | null;
  readonly size: readonly number[];
  readonly chunks: Chunks;
}

/** The content of `.metadata`: which tensors and objects exist, and where their bytes lie. */
export interface DcpMetadata {
  readonly tensors: ReadonlyMap<string, TensorItem>;
  readonly objects: ReadonlySet<string>;
  readonly stored: StoredTable;
  /** Last part of the path that the writer saved to. */
  readonly savedAs: string | null;
}

/** A part of the metadata that has an unexpected shape or exceeds a limit. */
export interface Misshapen {
  readonly misshapen: string;
  readonly limit: boolean;
}

/** Describes the unexpected part; `limit` when the metadata exceeds a limit. */
export function misshapen(what: string, limit = false): Misshapen {
  return { misshapen: what, limit };
}
