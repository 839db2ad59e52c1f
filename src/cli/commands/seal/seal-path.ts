import { dirname, resolve } from 'node:path';
import { adopt } from '../../../store/adopt/adopt.ts';
import { readRun } from '../../../store/folder/store.ts';
import { storageConcerns } from '../../../store/folder/suitability.ts';
import type { Clock } from '../../../core/clock.ts';
import type { ErrorCode } from '../../../core/error-codes.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { EXIT } from '../../../core/exit-codes.ts';
import type { ProgressUpdate } from '../../output/progress.ts';
import { placeNotes } from '../../store/place-notes.ts';

interface SealOptions {
  readonly run: string | null;
  readonly step: number | null;
  readonly accept: 'resumable' | 'weights' | 'anything';
  readonly attempt: number | null;
  readonly 'world-size': number | null;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: (update: ProgressUpdate) => void;
}

/** One checkpoint in `seal --json`. */
interface SealedReport {
  readonly path: string;
  readonly manifest: string;
  readonly run: string;
  readonly step: number;
  readonly attempt: number;
  readonly save: string;
  readonly format: string | null;
  readonly files: number;
  readonly bytes: number;
  /** Whether it was sealed before, with every byte unchanged since. */
  readonly wasSealed: boolean;
  readonly warnings: readonly string[];
}

/** A checkpoint that could not be sealed. */
interface FailedSeal {
  readonly path: string;
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string | null;
}

interface SealResult {
  readonly sealed: readonly SealedReport[];
  readonly failed: readonly FailedSeal[];
}

interface SealEvents {
  readonly onSealed: (sealed: SealedReport) => void;
  /** Called when one of several paths fails. With a single path, the error itself says it all. */
  readonly onFailed: (failed: FailedSeal) => void;
}

/**
 * Seals checkpoints one after the other. A bad checkpoint does not stop the others, but a problem
 * with the volume does.
 */
export async function sealPaths(paths: readonly string[], options: SealOptions & SealEvents): Promise<SealResult> {
  const sealed: SealedReport[] = [];
  const failed: FailedSeal[] = [];
  if (options.step !== null && paths.length > 1) {
    throw new HoldfastError('USAGE', { message: `--step names one checkpoint, not ${paths.length}`, hint: 'Seal them one by one.' });
  }
  for (const path of paths) {
    try {
      const one = await sealPath(path, options);
      sealed.push(one);
      options.onSealed(one);
    } catch (thrown) {
      if (!(thrown instanceof HoldfastError) || (thrown.exitCode !== EXIT.no && thrown.exitCode !== EXIT.noInput)) throw thrown;
      const { code, message, hint = null } = thrown;
      failed.push({ path, code, message, hint });
      if (paths.length > 1) options.onFailed({ path, code, message, hint });
    }
  }
  return { sealed, failed };
}

/** The error that ends the command when a checkpoint could not be sealed; null when all were. */
export function whyNotAll(paths: readonly string[], { failed }: SealResult): HoldfastError | null {
  const [first] = failed;
  if (first === undefined) return null;
  const { code, message, hint } = first;
  const count = paths.length === 1 ? '' : `${failed.length} of ${paths.length} could not be sealed: `;
  return new HoldfastError(code, { message: `${count}${message}`, ...(hint === null ? {} : { hint }) });
}

async function sealPath(path: string, options: SealOptions): Promise<SealedReport> {
  const { clock, signal, step, attempt } = options;
  const store = readRun(options.run ?? dirname(resolve(path)), { clock });
  const { manifest, ...sealed } = await adopt(store, path, {
    accept: options.accept,
    ...(step === null ? {} : { step }),
    ...(attempt === null ? {} : { attempt }),
    ...(options['world-size'] === null ? {} : { worldSize: options['world-size'] }),
    signal,
    onBytes: (phase, done, total) =>
      options.onProgress({ phase: phase === 'read' ? 'reading' : 'sealing', done, total, unit: 'bytes', current: path }),
  });
  return {
    path: sealed.path,
    manifest: sealed.manifestFile,
    run: manifest.run,
    step: manifest.step,
    attempt: manifest.attempt,
    save: manifest.save,
    format: manifest.format,
    files: manifest.files.length,
    bytes: sealed.bytes,
    wasSealed: sealed.wasSealed,
    warnings: [...(sealed.wasSealed ? [] : placeNotes(readRun(store.path, { clock }), manifest)), ...storageConcerns(store.path)],
  };
}
