import type { BucketSettings } from './bucket-settings.ts';
import type { FileRange } from '../http/body.ts';
import type { BodySink } from '../http/http-client.ts';

/** A part of an object, sent in one request. */
export interface PlannedPart {
  /** From 0. */
  readonly index: number;
  readonly offset: number;
  readonly size: number;
  readonly crc32c: number;
}

/** The plan of an object. It follows from the manifest alone, without reading the file. */
export interface ObjectPlan {
  readonly size: number;
  readonly crc32c: number;
  readonly parts: readonly PlannedPart[];
}

/** What a store says about an object it holds. */
export interface StoredObject {
  readonly size: number;
  /** Changes whenever the object does; used by {@link ObjectStore.replace}. */
  readonly version: string;
  readonly checksum: StoredChecksum | null;
}

/**
 * `whole`: the crc32c of all bytes. `parts`: the crc32c over the parts' checksums, which S3 keeps
 * for some uploads.
 */
export type StoredChecksum =
  | { readonly kind: 'whole'; readonly crc32c: number }
  | { readonly kind: 'parts'; readonly crc32c: number; readonly count: number };

/** An object in a listing. */
export interface ListedObject {
  readonly key: string;
  readonly size: number;
}

/** The part of a file that a request sends. */
export type PartBody = Omit<FileRange, 'kind' | 'offset' | 'size'>;

/** An upload in progress, in parts. */
export interface Upload {
  /** Whether parts must be sent in order. */
  readonly isOrdered: boolean;
  /** Indexes of the parts that the store holds already, with the right checksum. */
  readonly held: ReadonlySet<number>;
  /** Sends one part. When this returns, the store holds it with the right checksum. */
  putPart(part: PlannedPart, body: PartBody): Promise<void>;
  /** Makes the object from its parts. */
  complete(): Promise<void>;
}

/** The result of a conditional write; false when the condition does not hold. */
export type Written = { readonly isWritten: true; readonly version: string } | { readonly isWritten: false };

/**
 * A place for objects, described by meaning and not by transport. Keys are paths with `/` below the
 * opened address. Every call waits a bounded time, retries failures that may pass, and throws a
 * HoldfastError otherwise.
 */
export interface ObjectStore extends AsyncDisposable {
  /** The address as the user wrote it, without a final slash. */
  readonly url: string;
  /** The settings of the bucket; null for a store without one. */
  readonly settings: BucketSettings | null;
  /** Objects up to this size are sent in one piece. */
  readonly largestSinglePut: number;
  /** Reads what the store holds under a key, with its checksum; null when there is nothing. */
  head(key: string): Promise<StoredObject | null>;
  /** Reads a small object and its version; null when there is none. */
  read(key: string, maxBytes: number): Promise<{ readonly bytes: Buffer; readonly version: string } | null>;
  /** Reads a range in order. Calls `restart` before the first byte of every try. */
  readRange(key: string, range: { readonly offset: number; readonly size: number }, sink: RangeSink): Promise<void>;
  /** Creates a small object only if there is none. */
  create(key: string, bytes: Uint8Array): Promise<Written>;
  /** Replaces a small object only if it still has the version that the caller read. */
  replace(key: string, bytes: Uint8Array, version: string): Promise<Written>;
  /** Sends a file in one piece. */
  putFile(key: string, plan: ObjectPlan, body: PartBody): Promise<void>;
  /**
   * Starts an upload in parts, or resumes one of an earlier process. Removes other uploads of the
   * same object.
   */
  openUpload(key: string, plan: ObjectPlan): Promise<Upload>;
  /** Lists every object whose key starts with the prefix. */
  list(prefix: string): AsyncIterable<ListedObject>;
  /** Removes the uploads in progress of exactly this key; returns how many there were. */
  removeUploads(key: string): Promise<number>;
  /**
   * Removes uploads below the prefix that are older than the age, where the store can list them.
   * Age is by the store's own clock, where it sends one. Spared keys stay. Where other programs may
   * upload below the same prefix, only our keys go.
   */
  removeOldUploads(olderThanMs: number, spared: ReadonlySet<string>, isOurs: (key: string) => Promise<boolean>): Promise<number>;
}

/** Takes the bytes of a range, over several tries. */
export interface RangeSink extends BodySink {
  /** Starts a new try and discards the earlier one. */
  restart(): void;
}

/**
 * Remembers between processes the addresses of uploads in progress, which a store cannot list. They
 * are secrets.
 */
export interface UploadMemory {
  get(key: string): string | null;
  set(key: string, value: string): void;
  delete(key: string): void;
}
