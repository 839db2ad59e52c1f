import type { Clock } from '../core/clock.ts';
import { systemCode } from '../core/errors.ts';
import { type Capabilities, tryCapabilities, unwritable } from './capabilities.ts';
import { commitRule } from './commit-rule.ts';
import type { EvictionLineWish } from './eviction-line.ts';
import { limitsOf } from './limits.ts';
import { measureSyncs, measureWrites } from './measure.ts';
import { makeProbeFolder, withProbeFolder } from './probe-folder.ts';
import { type BandwidthReport, type LatencyReport, PROBE_SCHEMA, type ProbeReport, type SpaceReport } from './probe-report.ts';
import { quantile } from './quantile.ts';
import { type Limits, type Room, roomOf } from './space.ts';
import { describeStorage, type Storage } from './storage.ts';
import { storageWarnings } from './warnings.ts';

/** How far a probe is. */
export interface ProbeProgress {
  readonly phase: 'measuring';
  readonly done: number;
  readonly total: number;
  readonly unit: 'bytes';
  readonly current: string;
}

/** What probe looks at, and how. */
export interface ProbeOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly evictionLine: EvictionLineWish;
  /** The sizes of the measurement; null looks without measuring. */
  readonly measure: { readonly bytesPerRound: number; readonly rounds: number } | null;
  readonly onProgress?: (progress: ProbeProgress) => void;
}

interface Measured {
  readonly bandwidth: BandwidthReport | null;
  readonly syncLatency: LatencyReport | null;
  /** The reason for a missing measurement; null if there is one. */
  readonly notMeasured: string | null;
}

/** A measurement takes at most this share of the free room. */
const LARGEST_SHARE = 0.05;
/** The smallest round: less data says nothing about a save. */
const SMALLEST_ROUND = 2 ** 20;

/** Looks at a path and tries it out: its storage, its promises, its room and its speed. */
export async function probeStorage(path: string, options: ProbeOptions): Promise<ProbeReport> {
  const storage = describeStorage(path);
  const limits = limitsOf(storage, options.evictionLine, options.env);
  const room = roomOf(storage.space, limits);
  const { capabilities, measured, leftover } = await tryOut(storage, room, options);
  const commit = commitRule({ ...storage, capabilities });
  return {
    schema: PROBE_SCHEMA,
    path,
    folder: storage.folder,
    fileSystem: fileSystemReport(storage),
    place: { id: storage.place.id, title: storage.place.title, survivesPod: storage.place.survivesPod, why: storage.place.why },
    commit: { ...commit, rename: storage.fileSystem.rename },
    capabilities,
    space: spaceReport(storage, room, limits),
    ...measured,
    warnings: storageWarnings({ storage, commit, room, evictionLine: limits.evictionLine, leftover }),
  };
}

interface TriedOut {
  readonly capabilities: Capabilities | null;
  readonly measured: Measured;
  /** The folder that could not be removed. */
  readonly leftover: string | null;
}

async function tryOut(storage: Storage, room: Room, options: ProbeOptions): Promise<TriedOut> {
  if (commitRule({ ...storage, capabilities: null }).protocol === 'refuse') {
    return { capabilities: null, measured: notMeasured('Nothing is written where no checkpoint can be committed.'), leftover: null };
  }
  let folder: string;
  try {
    folder = makeProbeFolder(storage.folder);
  } catch (thrown) {
    const code = systemCode(thrown);
    if (code === null) throw thrown;
    return { capabilities: unwritable(code), measured: notMeasured(`Nothing can be written here (${code}).`), leftover: null };
  }
  const { result, isGone } = await withProbeFolder(folder, async () => {
    const capabilities = tryCapabilities(folder);
    options.signal.throwIfAborted();
    return { capabilities, measured: await measureIn(folder, capabilities, { storage, room, options }) };
  });
  return { ...result, leftover: isGone ? null : folder };
}

interface MeasureFacts {
  readonly storage: Storage;
  readonly room: Room;
  readonly options: ProbeOptions;
}

async function measureIn(
  folder: string,
  { write, remove, syncFile }: Capabilities,
  { storage, room, options }: MeasureFacts,
): Promise<Measured> {
  const { measure, clock, signal, onProgress } = options;
  if (measure === null) return notMeasured('Not asked for (--quick).');
  if (write.outcome !== 'works' || syncFile.outcome !== 'works') return notMeasured('Files cannot be written and synced here.');
  if (remove.outcome !== 'works') return notMeasured('What is written here could not be removed again.');
  const most = storage.fileSystem.hasRealSpace ? Math.floor(room.bytes * LARGEST_SHARE) : Infinity;
  const bytesPerRound = Math.min(measure.bytesPerRound, most);
  if (bytesPerRound < Math.min(SMALLEST_ROUND, measure.bytesPerRound))
    return notMeasured('There is too little room to measure without harm.');
  const total = bytesPerRound * measure.rounds;
  const where = { folder, clock, signal };
  const rates = await measureWrites({
    ...where,
    bytesPerRound,
    rounds: measure.rounds,
    onProgress: (done) => onProgress?.({ phase: 'measuring', done, total, unit: 'bytes', current: storage.folder }),
  });
  const times = await measureSyncs(where);
  return {
    bandwidth: {
      bytesPerRound,
      rounds: rates.map(Math.round),
      medianBytesPerSecond: Math.round(quantile(rates, 0.5)),
      lowBytesPerSecond: Math.round(quantile(rates, 0.1)),
    },
    syncLatency: { samples: times.length, p50Ms: rounded(quantile(times, 0.5)), p95Ms: rounded(quantile(times, 0.95)) },
    notMeasured: null,
  };
}

function notMeasured(reason: string): Measured {
  return { bandwidth: null, syncLatency: null, notMeasured: reason };
}

function rounded(ms: number): number {
  return Number(ms.toFixed(3));
}

function fileSystemReport({ fileSystem, magic, mount, isReadOnly }: Storage): ProbeReport['fileSystem'] {
  return {
    id: fileSystem.id,
    title: fileSystem.title,
    type: mount?.type ?? null,
    source: mount?.source ?? null,
    mountPoint: mount?.mountPoint ?? null,
    magic: `0x${magic.toString(16)}`,
    isReadOnly,
    powerLoss: fileSystem.powerLoss,
    note: fileSystem.note,
  };
}

function spaceReport({ fileSystem, space }: Storage, room: Room, limits: Limits): SpaceReport {
  return {
    isReal: fileSystem.hasRealSpace,
    totalBytes: space.totalBytes,
    availableBytes: space.availableBytes,
    reservedBytes: Math.max(0, space.freeBytes - space.availableBytes),
    totalInodes: space.totalInodes,
    freeInodes: space.freeInodes,
    ...limits,
    usableBytes: Math.max(0, room.bytes),
    usableFiles: Number.isFinite(room.files) ? Math.max(0, room.files) : null,
    limitedBy: room.limitedBy,
  };
}
