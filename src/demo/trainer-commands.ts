import { installedFile, launcher } from '../core/installation.ts';
import type { Keeper } from './life.ts';
import { FULL_DISK_BYTES, type Scene, TRAINING } from './scenes.ts';

interface TrainerPlace {
  readonly python: string;
  /** The folder of its checkpoints. */
  readonly dir: string;
  /** The limit of file sizes that stands for the disk of the scene. */
  readonly isDiskFull: boolean;
}

/**
 * Sets the limit for itself and becomes the trainer; the supervisor's own files are not touched by
 * it.
 */
const LIMITED =
  'import os, resource, sys; n = int(sys.argv[1]); resource.setrlimit(resource.RLIMIT_FSIZE, (n, n)); os.execvp(sys.argv[2], sys.argv[2:])';

/** The command line of the trainer in a scene, by itself or under `holdfast run`. */
export function trainerCommand(keeper: Keeper, { graceMs }: Scene, { python, dir, isDiskFull }: TrainerPlace): readonly string[] {
  const { steps, every, stepSeconds, saveSeconds } = TRAINING;
  const pace = [String(steps), String(stepSeconds), String(saveSeconds)];
  const limit = isDiskFull ? [python, '-c', LIMITED, String(FULL_DISK_BYTES)] : [];
  if (keeper === 'bare') return [...limit, python, installedFile('examples/stdlib/bare.py'), ...pace, dir, String(every)];
  const options = [`--dir=${dir}`, `--every=${every}steps`, `--grace=${graceMs}ms`, `--termination-log=${dir}.end`];
  return [launcher(), 'run', ...options, '--', ...limit, python, installedFile('examples/stdlib/train.py'), ...pace];
}

/** The trainer without an interruption: the same steps, without the waiting. */
export function twinCommand(python: string): readonly string[] {
  return [python, installedFile('examples/stdlib/train.py'), String(TRAINING.steps), '0', '0'];
}
