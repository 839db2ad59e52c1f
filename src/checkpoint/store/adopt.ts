import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import type { CheckpointReport } from '../report.ts';
import { stepOfName } from '../steps.ts';
import type { Verdict } from '../verdict.ts';
import { verifyPaths } from '../verify.ts';
import { createAttempt, fencedError, isFenced, newestAttempt } from './attempt.ts';
import { sealFiles } from './checksum-files.ts';
import { checkSealed } from './check-sealed.ts';
import type { Sealed } from './commit.ts';
import { removeTree } from './delete-tree.ts';
import type { DurableFs } from './durable-fs.ts';
import { rememberSealed } from './last-good-cache.ts';
import { at, BESIDE_SUFFIX, MANIFEST_NAME, STAGED_MANIFEST, STORE_FOLDER } from './layout.ts';
import { formatManifest, type Manifest, MANIFEST_SCHEMA, type SealedFile } from './manifest.ts';
import { readManifestFile } from './read-seals.ts';
import { markOwner, sweepStaging } from './save-owner.ts';
import { openForWriting, type OpenStore, type Store } from './store.ts';
import { isCode, storeError } from './store-error.ts';
import { assertSuited } from './suitability.ts';
import { type FoundFile, walkFiles } from './walk-files.ts';

export interface AdoptOptions {
  /** Overrides the step that the checkpoint says itself. */
  readonly step?: number;
  /** What is good enough: a run can resume from it; also bare weights; also formats nobody knows. Broken ones never are. */
  readonly accept?: 'resumable' | 'weights' | 'anything';
  /** Fails when this is not the newest attempt any more; by default it is sealed for the newest one, whichever that is. */
  readonly attempt?: number;
  readonly worldSize?: number;
  readonly signal?: AbortSignal;
  readonly onBytes?: (phase: 'read' | 'seal', done: number, total: number) => void;
}

export interface Adopted extends Sealed {
  /** It was sealed before, and still is what was sealed. */
  readonly wasSealed: boolean;
  readonly bytes: number;
  readonly manifestFile: string;
}

/** Where the pieces of the checkpoint lie that shall be sealed. */
interface Place {
  readonly kind: 'directory' | 'files';
  readonly name: string;
  /** The folder the files' paths start from. */
  readonly root: string;
  readonly path: string;
  readonly manifestFile: string;
}

/** Gang of the attempt under which checkpoints are sealed in a run that never had an attempt. */
const NO_GANG = 'none';

/**
 * Seals a finished checkpoint that any tool has made: reads every byte, checksums, syncs, and puts the manifest in place by one rename out of
 * the attempt's staging, which a newer attempt fences like any commit. The files themselves are not touched. One that lies outside the
 * run's folder is moved into it at the end.
 */
export async function adopt(opened: Store, path: string, options: AdoptOptions = {}): Promise<Adopted> {
  const place = locate(opened, resolve(path));
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
    const manifest = putManifest(store, place, { ...factsOf(report, options), step, files });
    return moveIntoRun(store, place, { ...sealedAt(place, manifest), wasSealed: false });
  } catch (thrown) {
    throw storeError(thrown, 'seal', place.path);
  }
}

function factsOf(report: CheckpointReport | null, { worldSize, attempt }: AdoptOptions): Omit<Facts, 'step' | 'files'> {
  return { worldSize: worldSize ?? report?.content.worldSize ?? 1, format: report?.format?.id ?? null, attempt };
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

/** Every file, every folder on the way to it, and the name of the checkpoint itself: who wrote them may have synced nothing. */
function syncAll({ fs }: OpenStore, { root, path }: Place, { files, folders }: Listed): void {
  for (const file of files) fs.fsyncFile(join(root, file.path));
  for (const folder of folders) fs.fsyncFolder(join(root, folder));
  fs.fsyncFolder(dirname(path));
}

function sealedAt(place: Place, manifest: Manifest): Omit<Adopted, 'wasSealed'> {
  const bytes = manifest.files.reduce((sum, { size }) => sum + size, 0);
  return { name: place.name, path: place.path, manifest, manifestFile: place.manifestFile, bytes };
}

function locate({ fs, path: run }: Store, path: string): Place {
  const stat = fs.stat(path);
  if (stat === null)
    throw new HoldfastError('PATH_NOT_FOUND', { message: `${printable(path)} does not exist`, hint: missingHint(fs, path) });
  const name = basename(path);
  if (stat.kind === 'other') throw notSealable(path, 'is neither a file nor a directory', 'Give the checkpoint itself, not a link to it.');
  if (stat.kind === 'file') {
    if (name.endsWith(BESIDE_SUFFIX) || name === MANIFEST_NAME) throw notSealable(path, 'is a manifest', 'Give the checkpoint it seals.');
    return { kind: 'files', name, root: dirname(path), path, manifestFile: `${path}${BESIDE_SUFFIX}` };
  }
  const isRun = fs.stat(join(path, STORE_FOLDER)) !== null || resolve(run) === path;
  if (isRun) throw notSealable(path, 'is the folder of a run', 'Give one of the checkpoints in it.');
  return { kind: 'directory', name, root: path, path, manifestFile: join(path, MANIFEST_NAME) };
}

/** TensorFlow names a checkpoint by what its files begin with. */
function missingHint(fs: DurableFs, path: string): string {
  return fs.stat(`${path}.index`) === null ? 'Check the spelling.' : `${OWN_FOLDER} Its files begin with ${printable(basename(path))}.`;
}

/** The seal it has already, when it is of this run and intact. A broken or foreign one is never written over. */
async function alreadySealed(opened: Store, place: Place, { signal }: AdoptOptions): Promise<Adopted | null> {
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
  const checked = await checkSealed(store, { ...place, manifest }, 'deep', signal === undefined ? {} : { signal });
  if (checked.state === 'good') return moveIntoRun(store, place, { ...sealedAt(place, manifest), wasSealed: true });
  throw new HoldfastError('CHECKPOINT_NOT_GOOD', { message: `${printable(place.path)} is sealed, but ${checked.reason}`, hint });
}

interface Listed {
  readonly files: readonly FoundFile[];
  readonly folders: readonly string[];
}

function listFiles({ fs }: Store, place: Place): Listed {
  if (place.kind === 'files') {
    const stat = fs.stat(place.path);
    if (stat?.kind !== 'file') throw changed(place);
    const { kind: _, ...facts } = stat;
    return { files: [{ path: place.name, ...facts }], folders: [] };
  }
  const { files, folders, others } = walkFiles(fs, place.root);
  const stranger = others.find((path) => !leadsInside(place.root, path));
  if (stranger !== undefined) {
    throw notSealable(
      join(place.root, stranger),
      'is neither a file nor a folder, or a link that leads elsewhere',
      'Copy what it leads to.',
    );
  }
  if (files.length === 0) throw notSealable(place.path, 'has no files', 'Is this the right folder?');
  return { files, folders };
}

/** A link to another file of the same checkpoint (`last.ckpt`) is only another name. */
function leadsInside(root: string, path: string): boolean {
  try {
    return realpathSync(join(root, path)).startsWith(realpathSync(root) + sep);
  } catch {
    return false;
  }
}

const GOOD: Readonly<Record<NonNullable<AdoptOptions['accept']>, readonly Verdict[]>> = {
  resumable: ['RESUMABLE', 'UNCHECKED'],
  weights: ['RESUMABLE', 'UNCHECKED', 'WEIGHTS_ONLY'],
  anything: ['RESUMABLE', 'UNCHECKED', 'WEIGHTS_ONLY', 'UNKNOWN'],
};

/** What `verify --deep` says of it; null for a format nobody knows, where that is accepted. */
async function judgeWhole(place: Place, { accept = 'resumable', signal, onBytes }: AdoptOptions): Promise<CheckpointReport | null> {
  const report = await verifyPaths([place.path], {
    level: 'deep',
    signal: signal ?? new AbortController().signal,
    onProgress: ({ phase, done, total }) => (phase === 'read' ? onBytes?.('read', done, total) : undefined),
  });
  const checkpoints = report.paths[0]?.checkpoints ?? [];
  const [first] = checkpoints;
  if (first !== undefined) {
    assertSealable(place, checkpoints, accept);
    return first;
  }
  if (accept === 'anything') return null;
  throw notGood(place, 'is of no format that Holdfast knows', 'Seal it all the same with --accept anything.');
}

const OWN_FOLDER = 'Give every checkpoint a folder of its own, move all of its files there, and seal that folder.';

function assertSealable(place: Place, checkpoints: readonly CheckpointReport[], accept: NonNullable<AdoptOptions['accept']>): void {
  const bad = checkpoints.find(({ verdict }) => !GOOD[accept].includes(verdict));
  if (bad !== undefined) {
    const why = bad.evidence.find(({ effect }) => !['warning', 'note', 'security'].includes(effect));
    if (why?.code === 'FILE_NOT_READABLE') throw notReadable(place, why.message);
    const isWeights = bad.verdict === 'WEIGHTS_ONLY';
    const hint = isWeights ? 'Seal weights on purpose with --accept weights.' : 'holdfast verify --deep tells all about it.';
    throw notGood(place, `is ${bad.verdict}${why === undefined ? '' : `: ${why.message}`}`, hint);
  }
  if (checkpoints.length > 1 && accept !== 'anything') {
    const isSet = checkpoints.some(({ kind }) => kind !== 'directory' && kind !== 'file');
    const hint = isSet ? OWN_FOLDER : `Give them, one by one or together: holdfast seal ${printable(place.path)}/*`;
    throw notSealable(place.path, `holds ${checkpoints.length} checkpoints`, hint);
  }
  const files = checkpoints[0]?.files ?? 0;
  if (place.kind === 'files' && files > 1) {
    throw notSealable(place.path, `is one of ${files} files of a checkpoint`, OWN_FOLDER);
  }
}

interface Facts {
  readonly step: number;
  readonly worldSize: number;
  readonly format: string | null;
  readonly files: readonly SealedFile[];
  readonly attempt: number | undefined;
}

/** Writes the manifest where the attempt stages, and renames it into place. One that lost against a newer attempt is made again for that. */
function putManifest(store: OpenStore, place: Place, { attempt: wanted, ...facts }: Facts): Manifest {
  for (;;) {
    const attempt = wanted ?? currentAttempt(store);
    const save = store.makeId();
    const manifest: Manifest = {
      schema: MANIFEST_SCHEMA,
      run: store.run,
      attempt,
      save,
      step: facts.step,
      worldSize: facts.worldSize,
      origin: 'adopted',
      format: facts.format,
      sealedAt: new Date(store.clock.now()).toISOString(),
      bootId: store.bootId,
      receipts: [],
      files: facts.files,
    };
    if (renameManifest(store, place, manifest)) return manifest;
    if (wanted !== undefined) throw fencedError(attempt);
  }
}

/** False when a newer attempt was started meanwhile. */
function renameManifest(store: OpenStore, place: Place, manifest: Manifest): boolean {
  const { fs, path } = store;
  const folder = join(at.staging(path, manifest.attempt), manifest.save);
  const staged = join(folder, STAGED_MANIFEST);
  try {
    fs.mkdir(folder);
    markOwner(store, folder);
    fs.writeFile(staged, formatManifest(manifest));
    fs.fsyncFile(staged);
    if (isFenced(store, manifest.attempt)) return false;
    fs.rename(staged, place.manifestFile);
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT') && isFenced(store, manifest.attempt)) return false;
    if (isCode(thrown, 'EXDEV')) throw notSealable(place.path, 'lies on another file system than the run', 'Copy it there first.');
    throw thrown;
  } finally {
    removeQuietly(store, folder);
  }
  fs.fsyncFolder(dirname(place.manifestFile));
  return true;
}

function removeQuietly({ fs }: OpenStore, folder: string): void {
  try {
    removeTree(fs, folder);
  } catch {
    // An empty folder in the staging harms nobody.
  }
}

function currentAttempt(store: OpenStore): number {
  const newest = newestAttempt(store);
  if (newest !== null) return newest.attempt;
  createAttempt(store, { attempt: 0, gang: NO_GANG });
  return 0;
}

function moveIntoRun(store: OpenStore, place: Place, adopted: Adopted): Adopted {
  const { fs, path: run } = store;
  const home = dirname(place.path);
  if (realpathSync(home) === realpathSync(run)) return finished(store, adopted);
  const target = join(run, place.name);
  try {
    if (fs.stat(target) !== null) {
      throw new HoldfastError('NAME_TAKEN', {
        message: `${printable(target)} is there already`,
        hint: 'Nothing is replaced: rename one of them.',
      });
    }
    fs.rename(place.path, target);
    if (place.kind === 'files') fs.rename(place.manifestFile, `${target}${BESIDE_SUFFIX}`);
    fs.fsyncFolder(run);
    fs.fsyncFolder(home);
  } catch (thrown) {
    throw storeError(thrown, 'move into the run', place.path);
  }
  return finished(store, {
    ...adopted,
    path: target,
    manifestFile: place.kind === 'files' ? `${target}${BESIDE_SUFFIX}` : join(target, MANIFEST_NAME),
  });
}

function finished(store: OpenStore, adopted: Adopted): Adopted {
  if (!adopted.wasSealed) rememberSealed(store, adopted.name, adopted.manifest);
  return adopted;
}

function assertUnchanged(before: readonly FoundFile[], after: readonly FoundFile[], place: Place): void {
  if (JSON.stringify(before) !== JSON.stringify(after)) throw changed(place);
}

function changed({ path }: Place): HoldfastError {
  return new HoldfastError('CHECKPOINT_CHANGED', {
    message: `${printable(path)} changed while it was read`,
    hint: 'Somebody is still writing it. Seal it when its writer is done.',
  });
}

function notSealable(path: string, problem: string, hint: string): HoldfastError {
  return new HoldfastError('CHECKPOINT_NOT_SEALABLE', { message: `${printable(path)} ${problem}`, hint });
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
