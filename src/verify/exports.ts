import { dirname } from 'node:path';
import type { CheckpointReport } from './report.ts';
import { canResume } from './verdict.ts';

/**
 * Marks whole weights as an export where they have no step and checkpoints of the run lie below the
 * same folder. Trainers leave such weights when they finish (`model.safetensors` beside
 * `checkpoint-500`).
 */
export function markExports(checkpoints: readonly CheckpointReport[]): readonly CheckpointReport[] {
  const folders = new Set(checkpoints.filter(({ verdict }) => canResume(verdict, false)).map(({ path }) => dirname(path)));
  return checkpoints.map((report) => (isExport(report, folders) ? { ...report, isExport: true } : report));
}

function isExport({ verdict, step, kind, path }: CheckpointReport, folders: ReadonlySet<string>): boolean {
  if (verdict !== 'WEIGHTS_ONLY' || step !== null) return false;
  return folders.has(dirname(path)) || (kind !== 'file' && folders.has(path));
}
