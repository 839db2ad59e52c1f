import { basename, dirname, resolve } from 'node:path';
import { findSealed } from '../../../store/attempt/roll-back.ts';
import { listPins, pin, unpin } from '../../../store/retention/pins.ts';
import { openExistingRun } from '../../../store/folder/store.ts';
import type { Clock } from '../../../core/clock.ts';

/** Pins a checkpoint by its name or its step, and returns its path. */
export function pinPath(path: string, clock: Clock): { readonly path: string; readonly step: number } {
  const full = resolve(path);
  const store = openExistingRun(dirname(full), { clock });
  const checkpoint = findSealed(store, basename(full));
  pin(store, checkpoint);
  return { path: checkpoint.path, step: checkpoint.manifest.step };
}

/** Unpins a checkpoint in the same way. A pin whose checkpoint is gone is found by its name. */
export function unpinPath(path: string, clock: Clock): { readonly path: string; readonly wasPinned: boolean } {
  const full = resolve(path);
  const store = openExistingRun(dirname(full), { clock });
  const name = listPins(store).has(basename(full)) ? basename(full) : findSealed(store, basename(full)).name;
  return { path: resolve(store.path, name), wasPinned: unpin(store, name) };
}
