import type { Clock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { excerpt } from '../../core/printable.ts';
import type { ObjectStore } from '../backends/backend.ts';
import type { BucketSettings, LifecycleRule } from '../backends/bucket-settings.ts';
import { threatsTo } from './lifecycle-threats.ts';

/** A permission that copies need. */
export interface Permission {
  readonly name: 'list' | 'write' | 'read' | 'remove';
  readonly isAllowed: boolean;
  readonly problem: string | null;
}

/** The report of `probe` about a bucket; `docs/reference/probe-json.md` documents the fields. */
export interface BucketReport {
  readonly schema: 'holdfast.probe-bucket/1';
  readonly url: string;
  readonly region: string | null;
  /** The region of this machine; null when unknown. */
  readonly nodeRegion: string | null;
  /** Whether both are in one region; null when either is unknown. */
  readonly isNear: boolean | null;
  readonly permissions: readonly Permission[];
  /** The rules that would delete copies; null when the credentials may not read them. */
  readonly threats: readonly LifecycleRule[] | null;
  readonly bandwidth: { readonly bytes: number; readonly writeBytesPerSecond: number; readonly readBytesPerSecond: number } | null;
}

/** What the probe needs in addition to the store. */
export interface BucketProbe {
  readonly clock: Clock;
  readonly settings: BucketSettings;
  /** The prefix for copies in the bucket. */
  readonly prefix: string;
  readonly nodeRegion: string | null;
  /** How many bytes to send and read back; null to measure nothing. */
  readonly bytes: number | null;
  /** A unique name for the test object. */
  readonly name: string;
}

const SMALL = 1024;

/** Tests a bucket as a place for copies, with one object that it removes again. */
export async function probeBucket(store: ObjectStore, probe: BucketProbe): Promise<BucketReport> {
  const { clock, settings, nodeRegion, bytes, name } = probe;
  const { region, deletes } = await settings.readFacts();
  const content = Buffer.alloc(bytes ?? SMALL, name);
  const list = await tried('list', () => firstOf(store.list('')));
  const startMs = clock.monotonic();
  const write = await tried('write', () => store.create(name, content));
  const writtenMs = clock.monotonic();
  const read = write.isAllowed ? await tried('read', () => readBack(store, name, content)) : skipped('read');
  const readMs = clock.monotonic();
  const remove = write.isAllowed ? await tried('remove', () => settings.remove(name)) : skipped('remove');
  const isMeasured = bytes !== null && write.isAllowed && read.isAllowed;
  return {
    schema: 'holdfast.probe-bucket/1',
    url: store.url,
    region,
    nodeRegion,
    isNear: region === null || nodeRegion === null ? null : isSameRegion(region, nodeRegion),
    permissions: [list, write, read, remove],
    threats: deletes === null ? null : threatsTo(probe.prefix, deletes),
    bandwidth: isMeasured
      ? { bytes, writeBytesPerSecond: rate(bytes, writtenMs - startMs), readBytesPerSecond: rate(bytes, readMs - writtenMs) }
      : null,
  };
}

/**
 * Whether a machine is near a bucket. A multi-region bucket, `us` or `eu`, is near each of its
 * regions.
 */
function isSameRegion(region: string, nodeRegion: string): boolean {
  return (
    region === nodeRegion ||
    (/^[a-z]{2,4}$/.test(region) && nodeRegion.startsWith(`${region}-`)) ||
    (region === 'eu' && nodeRegion.startsWith('europe-'))
  );
}

async function tried(name: Permission['name'], act: () => Promise<unknown>): Promise<Permission> {
  try {
    await act();
    return { name, isAllowed: true, problem: null };
  } catch (thrown) {
    // Only a refusal is an answer; an unreachable store gives none.
    if (!(thrown instanceof HoldfastError) || thrown.code !== 'REMOTE_ACCESS_DENIED') throw thrown;
    return { name, isAllowed: false, problem: excerpt(thrown.message, 300) };
  }
}

function skipped(name: Permission['name']): Permission {
  return { name, isAllowed: false, problem: 'not tried: nothing could be written' };
}

async function firstOf(objects: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of objects) return;
}

async function readBack(store: ObjectStore, key: string, content: Buffer): Promise<void> {
  const found = await store.read(key, content.length);
  if (found !== null && found.bytes.equals(content)) return;
  throw new HoldfastError('CHECKSUM_MISMATCH', { message: `${store.url}/${key} differs from the bytes that were just written there` });
}

function rate(bytes: number, ms: number): number {
  return Math.round((1000 * bytes) / Math.max(1, ms));
}
