import { basename, dirname, resolve } from 'node:path';
import { findSealed } from '../../checkpoint/store/roll-back.ts';
import { pin, unpin } from '../../checkpoint/store/pins.ts';
import { openExistingRun } from '../../checkpoint/store/store.ts';
import type { Clock } from '../../core/clock.ts';

export function pinPath(path: string, clock: Clock): { readonly path: string; readonly step: number } {
  const full = resolve(path);
  const store = openExistingRun(dirname(full), { clock });
  const checkpoint = findSealed(store, basename(full));
  pin(store, checkpoint);
  return { path, step: checkpoint.manifest.step };
}

export function unpinPath(path: string, clock: Clock): { readonly path: string; readonly wasPinned: boolean } {
  const full = resolve(path);
  return { path, wasPinned: unpin(openExistingRun(dirname(full), { clock }), basename(full)) };
}
