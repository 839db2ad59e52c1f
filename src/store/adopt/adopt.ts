import { dirname, join, resolve } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { isContainerFolder } from '../../verify/is-container-folder.ts';
import { isOfNoKnownFormat, speaksAgainst } from '../../verify/no-format.ts';
import type { CheckpointReport } from '../../verify/report.ts';
import { stepOfName } from '../../formats/reading/steps.ts';
import type { Verdict } from '../../verify/verdict.ts';
import { verifyPaths, type VerifyOptions } from '../../verify/verify.ts';
import { sealFiles } from '../disk/checksum-files.ts';
import { checkFiles, checkSealed, type CheckOptions } from '../folder/check-sealed.ts';
import type { Sealed } from '../commit/commit.ts';
import { rememberChanged, rememberSealed, storeFailure } from '../folder/last-good-cache.ts';
import type { Manifest, SealedFile } from '../../seal/manifest.ts';
import { assertNamesFree, type BegunMove, findBegunMove, liesElsewhere, moveIn } from './move-in.ts';
import { putManifest, type SealFacts } from './put-manifest.ts';
import { readManifestFile } from '../folder/read-seals.ts';
import { sweepStaging } from '../trash/save-owner.ts';
import { changed, type Listed, listFiles, locate, notSealable, type Place } from './seal-place.ts';
import { openForWriting, type OpenStore, type Store } from '../folder/store.ts';
import { assertSuited } from '../folder/suitability.ts';
import { type FoundFile, foldersTo } from '../disk/walk-files.ts';

/** How to seal a checkpoint, and which ones to accept. */
export interface AdoptOptions {
  /** Overrides the step that the checkpoint states. */
  readonly step?: number;
  /**
   * The weakest content to accept: resumable, also bare weights, or also unknown formats. Broken
   * ones never pass.
   */
  readonly accept?: 'resumable' | 'weights' | 'anything';
  /**
   * Fails when this is not the newest attempt any more. By default the seal uses the newest one.
   */
  readonly attempt?: number;
  readonly worldSize?: number;
  /** The processes that may be writing it; by default every process is checked. */
  readonly writers?: NonNullable<VerifyOptions['writers']>;
  readonly signal?: AbortSignal;
  readonly onBytes?: (phase: 'read' | 'seal', done: number, total: number) => void;
}

/** The seal, new or existing, of an adopted checkpoint. */
export interface Adopted extends Sealed {
  /** True when it was sealed before and is unchanged. */
  readonly wasSealed: boolean;
  readonly bytes: number;
  readonly manifestFile: string;
}

/**
 * Seals a finished checkpoint of any tool: reads every byte, checksums, syncs, and puts the
 * manifest in place by one rename. The rename starts in the attempt's staging, so that a newer
 * attempt fences it like any commit. The files stay unchanged. A checkpoint outside the run's
 * folder moves into it at the end.
 */
export async function adopt(opened: Store, path: string, options: AdoptOptions = {}): Promise<Adopted> {
  const begun = findBegunMove(opened, resolve(path));
  if (begun !== null) return finishMove(opened, begun, options);
  const place = locate(opened, resolve(path));
  if (liesElsewhere(opened, place)) assertNamesFree(opened, place);
  const known = await alreadySealed(opened, place, options);
  if (known !== null) return known;
  // This check comes before every byte is read in vain.
  assertSuited(opened.path);
  const before = listFiles(opened, place);
  const report = await judgeWhole(place, options);
  const step = options.step ?? report?.step ?? stepOfName(place.name);
  if (step === null) throw notSealable(place.path, 'has no step in its content or its name', 'Give it with --step.');
  // The first write happens only now, so that a folder without anything to seal does not become a
  // run.
  const store = openForWriting(opened);
  sweepStaging(store);
  try {
    const files = await readWhole(store, place, before, options);
    syncAll(store, place, before);
    // This sync covers the name of the checkpoint itself.
    store.fs.fsyncFolder(dirname(place.path));
    // Syncing can take long, and a process that started to delete the checkpoint must not find a
    // new file in it.
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

/** Syncs every file and every folder on the way to it, since its writer may have synced nothing. */
function syncAll({ fs }: OpenStore, { root }: Place, { files, folders }: Names): void {
  for (const file of files) fs.fsyncFile(join(root, file.path));
  for (const folder of folders) fs.fsyncFolder(join(root, folder));
}

/**
 * Does the same for a sealed checkpoint and its seal. The process that sealed it may have died
 * before its last sync, or a copy may have synced nothing.
 */
function syncSealed(store: OpenStore, place: Place, { files }: Manifest): void {
  const { fs } = store;
  const { kind, path, manifestFile } = place;
  try {
    fs.fsyncFile(manifestFile);
    syncAll(store, place, { files, folders: kind === 'directory' ? foldersTo(files) : [] });
    // A checkpoint that moves into the run gets its name there.
    if (!liesElsewhere(store, place)) fs.fsyncFolder(dirname(path));
  } catch (thrown) {
    throw storeFailure(store, thrown, 'make durable', path);
  }
}

function sealedAt(place: Place, manifest: Manifest): Omit<Adopted, 'wasSealed'> {
  const bytes = manifest.files.reduce((sum, { size }) => sum + size, 0);
  return { name: place.name, path: place.path, manifest, manifestFile: place.manifestFile, bytes };
}

/**
 * Returns the existing seal, when it is of this run and intact. A broken or foreign seal is never
 * overwritten.
 */
async function alreadySealed(opened: Store, place: Place, options: AdoptOptions): Promise<Adopted | null> {
  const parsed = readManifestFile(opened.fs, place.manifestFile);
  if (parsed === null) return null;
  const hint = 'If you are sure that the files are good, remove the manifest and seal the checkpoint again.';
  if (!parsed.ok) {
    const message = `the manifest of ${printable(place.path)} ${parsed.reason}`;
    const newer = 'Another version of Holdfast sealed it; use that version to check it.';
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

/** The only change is that it has a seal now. */
function isSealOfAnother({ fs }: OpenStore, { manifestFile }: Place, thrown: unknown): boolean {
  const isChanged = thrown instanceof HoldfastError && thrown.code === 'CHECKPOINT_CHANGED';
  return isChanged && readManifestFile(fs, manifestFile) !== null;
}

/** Two processes sealed the same checkpoint at once: the seal of the first is valid for both. */
async function sealedByAnother(store: OpenStore, place: Place, options: AdoptOptions): Promise<Adopted> {
  const adopted = await alreadySealed(store, place, options);
  if (adopted === null) throw changed(place);
  return adopted;
}

/** A sealed checkpoint is read once, and compared with its seal. */
function reading({ signal, onBytes }: AdoptOptions): CheckOptions {
  return { ...(signal === undefined ? {} : { signal }), onBytes: (done, total) => onBytes?.('read', done, total) };
}

const GOOD: Readonly<Record<NonNullable<AdoptOptions['accept']>, readonly Verdict[]>> = {
  resumable: ['RESUMABLE', 'UNCHECKED'],
  weights: ['RESUMABLE', 'UNCHECKED', 'WEIGHTS_ONLY'],
  anything: ['RESUMABLE', 'UNCHECKED', 'WEIGHTS_ONLY', 'UNKNOWN'],
};

/** Returns the path to give to `verify`. */
function firstOf({ root, path, members: [first] }: Place): string {
  return first === undefined ? path : join(root, first);
}

/** Returns the report of `verify --deep`; null for an unknown format that the options accept. */
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
  throw notGood(place, 'has no format that Holdfast knows', 'Seal it anyway with --accept anything.');
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
  if (place.kind === 'directory' && accept !== 'anything' && first !== undefined && isContainerFolder(place.path, first))
    throw notSealable(place.path, 'is not a checkpoint itself, but leads to one', `Give that one: holdfast seal ${printable(first.path)}`);
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
  if (isOfNoKnownFormat(bad)) return 'If its trainer has a format of its own, seal it anyway with --accept anything.';
  return bad.verdict === 'WEIGHTS_ONLY' ? 'Seal weights on purpose with --accept weights.' : 'holdfast verify --deep shows all evidence.';
}

/**
 * Finishes a killed move into the run: the checkpoint arrives whole or not at all. Every byte is
 * compared with the manifest of that move.
 */
async function finishMove(opened: Store, { place, manifest, still, moved }: BegunMove, options: AdoptOptions): Promise<Adopted> {
  const store = openForWriting(opened);
  for (const [root, files] of [[place.root, still] as const, [store.path, moved] as const]) {
    const part = { name: place.name, root, manifest: { ...manifest, files } };
    const problem = await checkFiles(store, part, reading(options));
    if (problem === null) continue;
    throw new HoldfastError('CHECKPOINT_NOT_GOOD', {
      message: `${printable(place.path)} was being moved into the run, but ${problem.reason}`,
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
    hint: 'Every byte must be read first. Check the permissions of the file, and the volume.',
  });
}

function notGood({ path }: Place, problem: string, hint: string): HoldfastError {
  return new HoldfastError('CHECKPOINT_NOT_GOOD', { message: `${printable(path)} ${problem}`, hint });
}
