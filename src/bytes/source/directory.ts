import type { ByteSource } from './byte-source.ts';
import type { SourceError } from './source-error.ts';

/**
 * What lies at a name: links inside the root are followed, everything else is told apart and never
 * opened.
 */
export interface Entry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'link-outside' | 'link-broken' | 'special' | 'unreadable';
  readonly size: number;
  readonly mtimeMs: number;
  /** Bytes the disk holds for it. */
  readonly allocated: number;
  /** Device and inode, empty when it cannot be looked at. */
  readonly identity: string;
  /** True when its size or modification time is not what it was at the first look. */
  hasChanged(): boolean;
  /** True when the name is a symbolic link (to something inside the root). */
  readonly isLink: boolean;
}

/** A folder below the root that is verified, listed once. Names are single path components. */
export interface Directory {
  /** Path below the root, with `/`; empty for the root itself. */
  readonly path: string;
  readonly name: string;
  readonly entries: ReadonlyMap<string, Entry>;
  /** Why the listing is missing or incomplete (no permission, too many names), or null. */
  readonly problem: SourceError | null;
  /**
   * The regular files whose name matches, in natural order of their names (`shard-2` before
   * `shard-10`).
   */
  files(pattern: RegExp): readonly Entry[];
  has(name: string): boolean;
  /** A folder inside, or null when there is none of that name. */
  directory(name: string): Directory | null;
  /** The path of `name` below the root, for evidence. */
  pathOf(name: string): string;
  /**
   * Opens a regular file; throws a {@link SourceError} when it cannot. The handle is closed by the
   * tree when the checkpoint is done.
   */
  open(name: string): ByteSource;
  /**
   * A small text file, or null when it is missing or longer than `maxBytes` (default
   * `LIMITS.documentBytes`).
   */
  readText(name: string, maxBytes?: number): string | null;
}
