import { dirname, join, resolve } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { liesDeeper } from '../lies-deeper.ts';
import { isOfNoKnownFormat, speaksAgainst } from '../no-format.ts';
import type { CheckpointReport } from '../report.ts';
import { stepOfName } from '../steps.ts';
import type { Verdict } from '../verdict.ts';
import { verifyPaths, type VerifyOptions } from '../verify.ts';
import { sealFiles } from './checksum-files.ts';
import { checkFiles, checkSealed, type CheckOptions } from './check-sealed.ts';
import type { Sealed } from './commit.ts';
import { rememberChanged, rememberSealed, storeFailure } from './last-good-cache.ts';
import type { Manifest, SealedFile } from './manifest.ts';
import { assertNamesFree, type BegunMove, findBegunMove, liesElsewhere, moveIn } from './move-in.ts';
import { putManifest, type SealFacts } from './put-manifest.ts';
import { readManifestFile } from './read-seals.ts';
import { sweepStaging } from './save-owner.ts';
import { changed, type Listed, listFiles, locate, notSealable, type Place } from './seal-place.ts';
import { openForWriting, type OpenStore, type Store } from './store.ts';
import { assertSuited } from './suitability.ts';
import { type FoundFile, foldersTo } from './walk-files.ts';

export interface AdoptOptions {
  /** Overrides the step that the checkpoint says itself. */
  readonly step?: number;
  /** What is good enough: a run can resume from it; also bare weights; also formats nobody knows. Broken ones never are. */
  readonly accept?: 'resumable' | 'weights' | 'anything';
  /** Fails when this is not the newest attempt any more; by default it is sealed for the newest one, whichever that is. */
  readonly attempt?: number;
  readonly worldSize?: number;
  /** Who may be writing it; by default every process is looked at. */
  readonly writers?: NonNullable<VerifyOptions['writers']>;
  readonly signal?: AbortSignal;
  readonly onBytes?: (phase: 'read' | 'seal', done: number, total: number) => void;
}

export interface Adopted extends Sealed {
  /** It was sealed before, and still is what was sealed. */
  readonly wasSealed: boolean;
  readonly bytes: number;
  readonly manifestFile: string;
}

/**
 * Seals a finished checkpoint that any tool has made: reads every byte, checksums, syncs, and puts the manifest in place by one rename out of
 * the attempt's staging, which a newer attempt fences like any commit. The files themselves are not touched. One that lies outside the
 * run's folder is moved into it at the end.
 */
export async function adopt(opened: Store, path: string, options: AdoptOptions = {}): Promise<Adopted> {
  const begun = findBegunMove(opened, resolve(path));
  if (begun !== null) return finishMove(opened, begun, options);
  const place = locate(opened, resolve(path));
  if (liesElsewhere(opened, place)) assertNamesFree(opened, place);
  const known = await alreadySealed(opened, place, options);
  if (known !== null) return known;
  // Before every byte is read for nothing.
  assertSuited(opened.path);
  const before = listFiles(opened, place);
  const report = await judgeWhole(place, options);
  const step = options.step ?? report?.step ?? stepOfName(place.name);
  if (step === null) throw notSealable(place.path, 'does not say its step, neither inside nor by its name', 'Tell it with --step.');
  // Only now is anything written: a folder in which nothing can be sealed does not become that of a run.
  const store = openForWriting(opened);
  sweepStaging(store);
  try {
    const files = await readWhole(store, place, before, options);
    syncAll(store, place, before);
    // The name of the checkpoint itself.
    store.fs.fsyncFolder(dirname(place.path));
    // Syncing can take long, and who has begun to delete it must not find a new file in it.
    assertUnchanged(before.files, listFiles(store, place).files, place);
    const manifest = putManifest(store, place, { ...factsOf(report, options), step, files, writtenMs: lastWritten(before) });
    if (manifest === null) return await sealedByAnother(store, place, options);
    return moveIntoRun(store, place, { ...sealedAt(place, manifest), wasSealed: false });
  } catch (thrown) {
    if (isSealOfAnother(store, place, thrown)) return sealedByAnother(store, place, options);
    throw storeFailure(store, thrown, 'seal', place.path);
  }
}

function factsOf(
  report: CheckpointReport | null,
  { worldSize, attempt }: AdoptOptions,
): Pick<SealFacts, 'worldSize' | 'format' | 'attempt'> {
  return { worldSize: worldSize ?? report?.content.worldSize ?? 1, format: report?.format?.id ?? null, attempt };
}

function lastWritten({ files }: Listed): number {
  return files.reduce((latest, { mtimeMs }) => Math.max(latest, mtimeMs), 0);
}

async function readWhole(
  store: OpenStore,
  place: Place,
  { files }: Listed,
  { signal, onBytes }: AdoptOptions,
): Promise<readonly SealedFile[]> {
  const sealed = await sealFiles(place.root, files, {
    ...(signal === undefined ? {} : { signal }),
    onBytes: (done, total) => onBytes?.('seal', done, total),
  });
  assertUnchanged(files, listFiles(store, place).files, place);
  return sealed;
}

interface Names {
  readonly files: readonly { readonly path: string }[];
  readonly folders: readonly string[];
}

/** Every file and every folder on the way to it: who wrote them may have synced nothing. */
function syncAll({ fs }: OpenStore, { root }: Place, { files, folders }: Names): void {
  for (const file of files) fs.fsyncFile(join(root, file.path));
  for (const folder of folders) fs.fsyncFolder(join(root, folder));
}

/** The same of one that has its seal: whoever put it there may have died before their last sync, or may have copied it and synced nothing. */
function syncSealed(store: OpenStore, place: Place, { files }: Manifest): void {
  const { fs } = store;
  const { kind, path, manifestFile } = place;
  try {
    fs.fsyncFile(manifestFile);
    syncAll(store, place, { files, folders: kind === 'directory' ? foldersTo(files) : [] });
    // What is moved into the run gets its name there.
    if (!liesElsewhere(store, place)) fs.fsyncFolder(dirname(path));
  } catch (thrown) {
    throw storeFailure(store, thrown, 'make durable', path);
  }
}

function sealedAt(place: Place, manifest: Manifest): Omit<Adopted, 'wasSealed'> {
  const bytes = manifest.files.reduce((sum, { size }) => sum + size, 0);
  return { name: place.name, path: place.path, manifest, manifestFile: place.manifestFile, bytes };
}

/** The seal it has already, when it is of this run and intact. A broken or foreign one is never written over. */
async function alreadySealed(opened: Store, place: Place, options: AdoptOptions): Promise<Adopted | null> {
  const parsed = readManifestFile(opened.fs, place.manifestFile);
  if (parsed === null) return null;
  const hint = 'Remove its manifest, if you are sure that the files are good, and seal it again.';
  if (!parsed.ok) {
    const message = `the manifest of ${printable(place.path)} ${parsed.reason}`;
    const newer = 'Another version of Holdfast has sealed it, and can tell whether it is good.';
    throw new HoldfastError('CHECKPOINT_NOT_GOOD', { message, hint: parsed.kind === 'foreign' ? `${newer} ${hint}` : hint });
  }
  const { manifest } = parsed;
  const store = openForWriting(opened);
  if (manifest.run !== store.run) {
    const message = `${printable(place.path)} is sealed as a checkpoint of run ${printable(manifest.run)}, not of ${printable(store.run)}`;
    throw new HoldfastError('RUN_FOREIGN', { message, hint });
  }
  const checked = await checkSealed(store, { ...place, manifest }, 'deep', reading(options));
  if (checked.state !== 'good') {
    if (checked.state === 'bad') rememberChanged(store, manifest);
    throw new HoldfastError('CHECKPOINT_NOT_GOOD', { message: `${printable(place.path)} is sealed, but ${checked.reason}`, hint });
  }
  syncSealed(store, place, manifest);
  return moveIntoRun(store, place, { ...sealedAt(place, manifest), wasSealed: true });
}

/** It has changed, but only in that it has a seal now. */
function isSealOfAnother({ fs }: OpenStore, { manifestFile }: Place, thrown: unknown): boolean {
  const isChanged = thrown instanceof HoldfastError && thrown.code === 'CHECKPOINT_CHANGED';
  return isChanged && readManifestFile(fs, manifestFile) !== null;
}

/** Two have sealed the same at once: what the first has put there is the seal, for both. */
async function sealedByAnother(store: OpenStore, place: Place, options: AdoptOptions): Promise<Adopted> {
  const adopted = await alreadySealed(store, place, options);
  if (adopted === null) throw changed(place);
  return adopted;
}

/** What has its seal is read once, and held against that. */
function reading({ signal, onBytes }: AdoptOptions): CheckOptions {
  return { ...(signal === undefined ? {} : { signal }), onBytes: (done, total) => onBytes?.('read', done, total) };
}

const GOOD: Readonly<Record<NonNullable<AdoptOptions['accept']>, readonly Verdict[]>> = {
  resumable: ['RESUMABLE', 'UNCHECKED'],
  weights: ['RESUMABLE', 'UNCHECKED', 'WEIGHTS_ONLY'],
  anything: ['RESUMABLE', 'UNCHECKED', 'WEIGHTS_ONLY', 'UNKNOWN'],
};

/** What is there of it for `verify` to be given. */
function firstOf({ root, path, members: [first] }: Place): string {
  return first === undefined ? path : join(root, first);
}

/** What `verify --deep` says of it; null for a format nobody knows, where that is accepted. */
async function judgeWhole(
  place: Place,
  { accept = 'resumable', writers, signal, onBytes }: AdoptOptions,
): Promise<CheckpointReport | null> {
  const report = await verifyPaths([firstOf(place)], {
    level: 'deep',
    signal: signal ?? new AbortController().signal,
    ...(writers === undefined ? {} : { writers }),
    onProgress: ({ phase, done, total }) => (phase === 'read' ? onBytes?.('read', done, total) : undefined),
  });
  const checkpoints = report.paths[0]?.checkpoints ?? [];
  const [first] = checkpoints;
  if (first !== undefined) {
    assertSealable(place, checkpoints, accept);
    return isOfNoKnownFormat(first) ? null : first;
  }
  if (accept === 'anything') return null;
  throw notGood(place, 'is of no format that Holdfast knows', 'Seal it all the same with --accept anything.');
}

const OWN_FOLDER = 'Give every checkpoint a folder of its own, move all of its files there, and seal that folder.';

function assertSealable(place: Place, checkpoints: readonly CheckpointReport[], accept: NonNullable<AdoptOptions['accept']>): void {
  const bad = checkpoints.find((one) => !GOOD[accept].includes(isOfNoKnownFormat(one) ? 'UNKNOWN' : one.verdict));
  if (bad !== undefined) throw whyBad(place, bad);
  if (checkpoints.length > 1 && accept !== 'anything') {
    const paths = checkpoints.slice(0, 3).map(({ path }) => printable(path));
    const hint = `Give them, one by one or together: holdfast seal ${paths.join(' ')}${checkpoints.length > paths.length ? ' …' : ''}`;
    throw notSealable(place.path, `holds ${checkpoints.length} checkpoints`, hint);
  }
  const [first] = checkpoints;
  if (place.kind === 'directory' && accept !== 'anything' && first !== undefined && liesDeeper(place.path, first))
    throw notSealable(place.path, 'is no checkpoint itself, but leads to one', `Give that one: holdfast seal ${printable(first.path)}`);
  const files = first?.files ?? 0;
  if (place.kind === 'files' && files > place.members.length) {
    throw notSealable(place.path, `is one of ${files} files of a checkpoint`, OWN_FOLDER);
  }
}

function whyBad(place: Place, bad: CheckpointReport): HoldfastError {
  const why = bad.evidence.find(speaksAgainst);
  if (why?.code === 'FILE_NOT_READABLE') return notReadable(place, why.message);
  return notGood(place, `is ${bad.verdict}${why === undefined ? '' : `: ${why.message}`}`, wayOut(bad));
}

function wayOut(bad: CheckpointReport): string {
  if (isOfNoKnownFormat(bad)) return 'If its trainer has a format of its own, seal it all the same with --accept anything.';
  return bad.verdict === 'WEIGHTS_ONLY' ? 'Seal weights on purpose with --accept weights.' : 'holdfast verify --deep tells all about it.';
}

/** One that was killed on its way into the run comes in whole, or not: every byte is held against the manifest it left. */
async function finishMove(opened: Store, { place, manifest, still, moved }: BegunMove, options: AdoptOptions): Promise<Adopted> {
  const store = openForWriting(opened);
  for (const [root, files] of [[place.root, still] as const, [store.path, moved] as const]) {
    const part = { name: place.name, root, manifest: { ...manifest, files } };
    const problem = await checkFiles(store, part, reading(options));
    if (problem === null) continue;
    throw new HoldfastError('CHECKPOINT_NOT_GOOD', {
      message: `${printable(place.path)} was on its way into the run, but ${problem.reason}`,
      hint: `Its files lie in ${printable(place.root)} and in ${printable(store.path)}. Bring them together, remove ${printable(place.manifestFile)}, and seal it again.`,
    });
  }
  return moveIntoRun(store, place, { ...sealedAt(place, manifest), wasSealed: true });
}

function moveIntoRun(store: OpenStore, place: Place, adopted: Adopted): Adopted {
  return finished(store, liesElsewhere(store, place) ? { ...adopted, ...moveIn(store, place) } : adopted);
}

function finished(store: OpenStore, adopted: Adopted): Adopted {
  if (!adopted.wasSealed) rememberSealed(store, adopted.name, adopted.manifest);
  return adopted;
}

function assertUnchanged(before: readonly FoundFile[], after: readonly FoundFile[], place: Place): void {
  if (JSON.stringify(before) !== JSON.stringify(after)) throw changed(place);
}

function notReadable({ path }: Place, reason: string): HoldfastError {
  return new HoldfastError('PATH_NOT_READABLE', {
    message: `${printable(path)} cannot be sealed: ${reason}`,
    hint: 'Every byte must be read first. Check who may read the file, and the volume.',
  });
}

function notGood({ path }: Place, problem: string, hint: string): HoldfastError {
  return new HoldfastError('CHECKPOINT_NOT_GOOD', { message: `${printable(path)} ${problem}`, hint });
}
