import { lstatSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HoldfastError, systemCode } from '../core/errors.ts';
import { relieveMemory } from '../core/memory.ts';
import { printable } from '../core/printable.ts';
import { HashPool } from '../bytes/hashing/pool.ts';
import { runChecks } from './deep/run-checks.ts';
import { type Discovery, discover } from './discover.ts';
import { addChangeEvidence, addFileEvidence, countsBlocksExactly } from '../formats/reading/file-evidence.ts';
import type { Findings } from '../formats/reading/findings.ts';
import { type Compared, joinPath, makeReport, withOneOfEach } from './make-report.ts';
import { LIMITS } from '../core/hostile-limits.ts';
import { newestFirst } from './newest.ts';
import { markExports } from './exports.ts';
import { type CheckpointReport, type Level, type PathReport, REPORT_SCHEMA, type VerifyReport } from './report.ts';
import { SourceError } from '../bytes/source/source-error.ts';
import { type FreshLook, openTree, type Tree } from '../bytes/source/tree.ts';
import { findWriters, type Writer } from '../bytes/source/writers.ts';
import { addManifestFindings } from './manifest-findings.ts';
import { reportBehind, reportTracker, reportUntracked, type Tracker, trackersByFolder } from '../formats/reading/trackers.ts';
import { once, type Unit } from '../formats/reading/unit.ts';
import { canResume } from './verdict.ts';

/** How far a deep verify is. */
export interface Progress {
  readonly phase: 'search' | 'inspect' | 'read';
  readonly done: number;
  readonly total: number;
  readonly unit: 'checkpoints' | 'bytes';
  readonly current: string;
}

/** How verify looks, and who follows it. */
export interface VerifyOptions {
  readonly level: Level;
  readonly signal: AbortSignal;
  /** Stops at the newest checkpoint that a run could resume from, and skips older ones. */
  readonly onlyLastGood?: boolean;
  /** For `lastGood`: accept only checkpoints whose checksums were compared. */
  readonly requireChecked?: boolean;
  /**
   * The paths are absolute and without links; a link that appears in them later is not followed.
   */
  readonly isExact?: boolean;
  readonly onProgress?: (progress: Progress) => void;
  /** The processes with a file open for writing; by default a scan of every process, once. */
  readonly writers?: () => ReadonlyMap<string, Writer>;
}

/**
 * Verifies the content of each path. Rejects with a {@link HoldfastError} if a path cannot be read,
 * or with the signal's reason.
 */
export async function verifyPaths(paths: readonly string[], options: VerifyOptions): Promise<VerifyReport> {
  for (const path of paths) assertVerifiable(path);
  const writers = once(options.writers ?? (() => findWriters()));
  const reports: PathReport[] = [];
  const held: Held = { checkpoints: 0, evidence: 0 };
  const pool = new HashPool();
  try {
    for (const path of paths) {
      reports.push(await verifyPath(path, options, { writers, held, pool }));
      relieveMemory();
    }
  } finally {
    await pool.close();
  }
  return { schema: REPORT_SCHEMA, level: options.level, paths: reports };
}

function assertVerifiable(path: string): void {
  try {
    const stats = statSync(path);
    if (stats.isFile() || stats.isDirectory()) return;
  } catch (thrown) {
    const code = systemCode(thrown);
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      const isLink = code === 'ENOENT' && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
      const message = `${printable(path)} ${isLink ? 'is a link that leads nowhere' : 'does not exist'}`;
      throw new HoldfastError('PATH_NOT_FOUND', { message, hint: 'Check the spelling, and whether the volume is mounted here.' });
    }
    const message = `${printable(path)} cannot be read: ${code ?? String(thrown)}`;
    throw new HoldfastError('PATH_NOT_READABLE', { message, hint: 'Check the permissions of the path and of the folders above it.' });
  }
  const message = `${printable(path)} is neither a file nor a directory`;
  throw new HoldfastError('PATH_NOT_SUPPORTED', {
    message,
    hint: 'Give a checkpoint file, a checkpoint directory, or the directory of a run.',
  });
}

/** The size of the report so far: it is held until the last path is verified. */
interface Held {
  checkpoints: number;
  evidence: number;
}

async function verifyPath(path: string, options: VerifyOptions, shared: Pick<Context, 'writers' | 'held' | 'pool'>): Promise<PathReport> {
  const { tree, file } = openTree(path, options.isExact);
  try {
    options.onProgress?.({ phase: 'search', done: 0, total: 0, unit: 'checkpoints', current: path });
    const discovery = discover(tree.root, LIMITS.checkpoints - shared.held.checkpoints);
    const units = file === null ? discovery.units : discovery.units.filter((unit) => unit.files().has(file));
    const pathOf = (below: string) => (file === null ? joinPath(path, below) : below === file ? path : joinPath(dirname(path), below));
    const trackers = trackersByFolder(discovery.trackers);
    const context: Context = { ...shared, tree, pathOf, options, trackers, isExact: countsBlocksExactly(tree.real) };
    const checkpoints = await verifyUnits(newestFirst(units), context);
    return finish(path, checkpoints, discovery, context);
  } finally {
    tree.close();
  }
}

interface Context {
  readonly tree: Tree;
  /** A path below the root as the user would write it. */
  readonly pathOf: (below: string) => string;
  readonly options: VerifyOptions;
  readonly writers: () => ReadonlyMap<string, Writer>;
  readonly trackers: ReadonlyMap<string, readonly Tracker[]>;
  readonly isExact: boolean;
  readonly held: Held;
  readonly pool: HashPool;
}

async function verifyUnits(units: readonly Unit[], context: Context): Promise<CheckpointReport[]> {
  const { options, held } = context;
  const reports: CheckpointReport[] = [];
  for (const [index, unit] of units.entries()) {
    options.onProgress?.({ phase: 'inspect', done: index, total: units.length, unit: 'checkpoints', current: unit.path });
    await nextTurn();
    options.signal.throwIfAborted();
    const whole = await verifyUnit(unit, context);
    unit.forget();
    relieveMemory();
    const report = held.evidence + whole.evidence.length > LIMITS.evidence ? withOneOfEach(whole) : whole;
    held.evidence += report.evidence.length;
    held.checkpoints++;
    reports.push(report);
    if (options.onlyLastGood === true && canResume(report.verdict, options.requireChecked === true)) break;
  }
  return reports;
}

async function verifyUnit(unit: Unit, context: Context): Promise<CheckpointReport> {
  const { tree, pathOf, options, writers, isExact } = context;
  const findings = unit.inspect();
  const files = unit.files();
  const seal = addManifestFindings(tree.root, unit, findings);
  const compared = await compare(findings, context);
  addFileEvidence({ files, writers: writers(), isExact }, findings);
  if (compared.checkedBytes > 0 && compared.failures === 0) settleHoles(findings, compared);
  reportBehind(context.trackers, unit, findings);
  addChangeEvidence(files, findings);
  tree.close();
  return makeReport(unit, findings, compared, { level: options.level, path: pathOf(unit.path), seal });
}

async function compare(findings: Findings, { tree, options, isExact, pool }: Context): Promise<Compared> {
  if (options.level === 'quick' || findings.coverage.checks === 0) return { checkedBytes: 0, failures: 0 };
  return runChecks(findings, {
    pool,
    root: tree.real,
    fileOf: (file) => {
      const fresh = lookAgain(tree, file, findings);
      // If the block count does not show holes, every byte counts as stored.
      return fresh === null || isExact ? fresh : { ...fresh, allocated: fresh.size };
    },
    signal: options.signal,
    onBytes: (done, total, file) => options.onProgress?.({ phase: 'read', done, total, unit: 'bytes', current: file }),
  });
}

function lookAgain(tree: Tree, file: string, findings: Findings): FreshLook | null {
  try {
    return tree.look(file);
  } catch (thrown) {
    if (!(thrown instanceof SourceError)) throw thrown;
    findings.add(thrown.evidence, { file }, thrown.message);
    return null;
  }
}

/** Holes under bytes whose checksums all matched are real zeros. */
function settleHoles(findings: Findings, compared: Compared): void {
  if (compared.checkedBytes < findings.payloadBytes) return;
  for (const [index, evidence] of findings.evidence.entries()) {
    if (evidence.code !== 'FILE_SPARSE') continue;
    findings.evidence[index] = { ...evidence, code: 'FILE_SPARSE_CHECKED', effect: 'note' };
  }
}

function finish(path: string, checkpoints: CheckpointReport[], discovery: Discovery, { tree, options }: Context): PathReport {
  const { findings, trackers } = discovery;
  for (const tracker of trackers) reportTracker(tracker, findings);
  reportUntracked(tree.root, discovery.units, findings);
  const lastGood = checkpoints.find(({ verdict }) => canResume(verdict, options.requireChecked === true)) ?? null;
  return {
    path,
    checkpoints: markExports(checkpoints).map((report) => (report.path === lastGood?.path ? { ...report, isLastGood: true } : report)),
    lastGood: lastGood?.path ?? null,
    evidence: findings.evidence,
    ignoredFiles: discovery.ignored,
    bytesRead: tree.bytesRead,
  };
}
