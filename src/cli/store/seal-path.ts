import { dirname, resolve } from 'node:path';
import { adopt } from '../../checkpoint/store/adopt.ts';
import { readRun } from '../../checkpoint/store/store.ts';
import { storageConcerns } from '../../checkpoint/store/suitability.ts';
import type { Clock } from '../../core/clock.ts';
import type { ProgressUpdate } from '../output/progress.ts';

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

/** One checkpoint as `seal --json` tells it. */
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
  /** It was sealed before, and every byte still is as it was. */
  readonly wasSealed: boolean;
  readonly warnings: readonly string[];
}

export async function sealPath(path: string, options: SealOptions): Promise<SealedReport> {
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
    warnings: storageConcerns(store.path),
  };
}
