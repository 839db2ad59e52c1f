import type { JobKind } from './kind.ts';
import { PYTORCH_JOB } from './pytorch.ts';
import { TF_JOB } from './tensorflow.ts';

/** Every kind of job that the operator runs. */
export const JOB_KINDS: readonly JobKind[] = [PYTORCH_JOB, TF_JOB];

/** The kind of job with this name; null: the operator does not run such jobs. */
export function kindNamed(name: string): JobKind | null {
  return JOB_KINDS.find(({ resource }) => resource.kind === name) ?? null;
}
