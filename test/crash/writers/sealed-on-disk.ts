import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MANIFEST_NAME } from '../../../src/seal/names.ts';
import type { Place } from './history.ts';

export interface OnDisk extends Place {
  readonly worldSize: number;
  readonly path: string;
}

/**
 * The seals in a run's folder, read without the store's own code: each folder with a manifest that
 * is JSON.
 */
export function sealedOnDisk(run: string): OnDisk[] {
  return readdirSync(run).flatMap((name) => {
    try {
      const text = readFileSync(join(run, name, MANIFEST_NAME), 'utf8');
      const { attempt, step, worldSize } = JSON.parse(text) as { attempt: number; step: number; worldSize: number };
      return [{ attempt, step, worldSize, path: join(run, name) }];
    } catch {
      return [];
    }
  });
}
