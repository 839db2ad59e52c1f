import { formatBytes, parseBytes } from '../core/bytes.ts';
import { type Parsed, parsed, refused } from '../core/parsed.ts';
import { excerpt } from '../core/printable.ts';
import type { Place } from './place.ts';

/**
 * The user's wish for the line: the kubelet's defaults where they apply (auto), none, or a share or
 * size.
 */
export type EvictionLineWish =
  | { readonly kind: 'auto' }
  | { readonly kind: 'none' }
  | { readonly kind: 'share'; readonly share: number }
  | { readonly kind: 'bytes'; readonly bytes: number };

/**
 * Free space at which the kubelet evicts pods, long before the disk is full. Space below it does
 * not count as free.
 */
export interface EvictionLine {
  /** The kubelet's name of the watched resource. */
  readonly signal: 'nodefs.available' | 'imagefs.available';
  readonly bytes: number;
  /** The same for inodes; 0 where the file system does not count them. */
  readonly inodes: number;
  /** For people: `10 %`, `8 GiB`. */
  readonly text: string;
}

/** The kubelet's defaults on Linux. */
const NODEFS_SHARE = 0.1;
const IMAGEFS_SHARE = 0.15;
const INODES_SHARE = 0.05;

const RULE = 'the line is auto, none, a share of the disk (10%) or a size (8GiB)';

/** Parses the line at which the kubelet evicts. */
export function parseEvictionLine(text: string): Parsed<EvictionLineWish> {
  const word = text.trim();
  if (word === 'auto' || word === 'none') return parsed({ kind: word });
  const share = /^(\d+(?:\.\d+)?) ?%$/.exec(word);
  if (share !== null) {
    const percent = Number(share[1]);
    return percent < 100 ? parsed({ kind: 'share', share: percent / 100 }) : refused(`"${excerpt(text, 40)}" leaves nothing: ${RULE}`);
  }
  const size = parseBytes(word);
  return size.ok ? parsed({ kind: 'bytes', bytes: size.value }) : refused(`"${excerpt(text, 40)}" is not an eviction line: ${RULE}`);
}

/** The facts that decide the line at a place. */
export interface LineFacts {
  readonly place: Pick<Place, 'id' | 'isOnNodeDisk'>;
  readonly totalBytes: number;
  readonly totalInodes: number;
  /** Whether the layers of containers lie on a disk other than the kubelet's. */
  readonly hasImageDisk: boolean;
}

/**
 * The line at a place, or null. With `auto` only where the kubelet watches: on the node's disk, not
 * on a network volume or a separate disk. A requested line counts everywhere.
 */
export function evictionLine(wish: EvictionLineWish, { place, totalBytes, totalInodes, hasImageDisk }: LineFacts): EvictionLine | null {
  if (wish.kind === 'none' || (wish.kind === 'auto' && !place.isOnNodeDisk)) return null;
  const signal = place.id === 'container-layer' && hasImageDisk ? 'imagefs.available' : 'nodefs.available';
  const inodes = Math.ceil(totalInodes * INODES_SHARE);
  if (wish.kind === 'bytes') return { signal, bytes: wish.bytes, inodes, text: formatBytes(wish.bytes) };
  const share = wish.kind === 'share' ? wish.share : signal === 'imagefs.available' ? IMAGEFS_SHARE : NODEFS_SHARE;
  return { signal, bytes: Math.ceil(totalBytes * share), inodes, text: `${Number((share * 100).toFixed(2))} %` };
}
