import { basename, dirname, resolve } from 'node:path';
import { findSealed } from '../../checkpoint/store/roll-back.ts';
import { listPins, pin, unpin } from '../../checkpoint/store/pins.ts';
import { openExistingRun } from '../../checkpoint/store/store.ts';
import type { Clock } from '../../core/clock.ts';

/** By its name, or by its step: the path that is told is that of the checkpoint. */
export function pinPath(path: string, clock: Clock): { readonly path: string; readonly step: number } {
  const full = resolve(path);
  const store = openExistingRun(dirname(full), { clock });
  const checkpoint = findSealed(store, basename(full));
  pin(store, checkpoint);
  return { path: checkpoint.path, step: checkpoint.manifest.step };
}

/** The same; a pin whose checkpoint is gone is found by its name. */
export function unpinPath(path: string, clock: Clock): { readonly path: string; readonly wasPinned: boolean } {
  const full = resolve(path);
  const store = openExistingRun(dirname(full), { clock });
  const name = listPins(store).has(basename(full)) ? basename(full) : findSealed(store, basename(full)).name;
  return { path: resolve(store.path, name), wasPinned: unpin(store, name) };
}
