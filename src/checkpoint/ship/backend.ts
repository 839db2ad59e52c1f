import type { FileRange } from './http/body.ts';
import type { BodySink } from './http/client.ts';

/** A piece of an object that is sent at once. */
export interface PlannedPart {
  /** From 0. */
  readonly index: number;
  readonly offset: number;
  readonly size: number;
  readonly crc32c: number;
}

/** An object as it shall be: everything follows from the manifest, nothing needs to be read first. */
export interface ObjectPlan {
  readonly size: number;
  readonly crc32c: number;
  readonly parts: readonly PlannedPart[];
}

/** What a store says about an object it holds. */
export interface StoredObject {
  readonly size: number;
  /** Changes whenever the object does; for {@link ObjectStore.replace}. */
  readonly version: string;
  readonly checksum: StoredChecksum | null;
}

/** `whole`: the crc32c of all bytes. `parts`: the crc32c of the parts' checksums in a row, which S3 keeps for some uploads. */
export type StoredChecksum =
  | { readonly kind: 'whole'; readonly crc32c: number }
  | { readonly kind: 'parts'; readonly crc32c: number; readonly count: number };

export interface ListedObject {
  readonly key: string;
  readonly size: number;
}

/** Where a piece of a file is sent from. */
export type PartBody = Omit<FileRange, 'kind' | 'offset' | 'size'>;

/** An object on its way, in parts. */
export interface Upload {
  /** Parts must be sent one after the other. */
  readonly isOrdered: boolean;
  /** Indexes of the parts that the store holds already, with the right checksum. */
  readonly held: ReadonlySet<number>;
  /** Sends one part; it is there with the right checksum when this returns. */
  putPart(part: PlannedPart, body: PartBody): Promise<void>;
  /** Makes the object of its parts. */
  complete(): Promise<void>;
}

/** One write that happens only under a condition; false when the condition does not hold. */
export type Written = { readonly isWritten: true; readonly version: string } | { readonly isWritten: false };

/**
 * A place for objects, by what it means and not by how it is reached. Keys are paths with `/` below the address the store was opened with.
 * Every call waits a bounded time, tries again what may pass, and throws a HoldfastError otherwise.
 */
export interface ObjectStore extends AsyncDisposable {
  /** As the user wrote it, without a slash at the end. */
  readonly url: string;
  /** Objects up to this size are sent in one piece. */
  readonly largestSinglePut: number;
  /** What the store has under the key, with the checksum it keeps; null when there is nothing. */
  head(key: string): Promise<StoredObject | null>;
  /** The bytes of a small object and its version; null when there is none. */
  read(key: string, maxBytes: number): Promise<{ readonly bytes: Buffer; readonly version: string } | null>;
  /** Hands over a range in order. `restart` is called before the first byte of every try. */
  readRange(key: string, range: { readonly offset: number; readonly size: number }, sink: RangeSink): Promise<void>;
  /** Creates a small object only when there is none. */
  create(key: string, bytes: Uint8Array): Promise<Written>;
  /** Replaces a small object only when it is still the version that was read. */
  replace(key: string, bytes: Uint8Array, version: string): Promise<Written>;
  /** Sends a file in one piece. */
  putFile(key: string, plan: ObjectPlan, body: PartBody): Promise<void>;
  /** Begins to send a file in parts, or goes on with what an earlier process began. Other beginnings of the same object are removed. */
  openUpload(key: string, plan: ObjectPlan): Promise<Upload>;
  /** Every object whose key starts with the prefix. */
  list(prefix: string): AsyncIterable<ListedObject>;
  /** Removes beginnings of the uploads of exactly this key; how many there were. */
  removeUploads(key: string): Promise<number>;
  /**
   * Removes beginnings below the prefix that are older than the age, by the store's own clock where it tells it, where the store can list them; not those of the keys that are spared, and where
   * others may have begun some below the same prefix, only those of our keys.
   */
  removeOldUploads(olderThanMs: number, spared: ReadonlySet<string>, isOurs: (key: string) => Promise<boolean>): Promise<number>;
}

export interface RangeSink extends BodySink {
  /** A try begins: what came before is void. */
  restart(): void;
}

/** Remembers between processes what a store cannot tell itself: the addresses of uploads in progress. They are secrets. */
export interface UploadMemory {
  get(key: string): string | null;
  set(key: string, value: string): void;
  delete(key: string): void;
}
