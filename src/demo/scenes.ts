/** One way in which training is interrupted. */
export interface Scene {
  readonly id: 'short-grace' | 'killed-save' | 'full-disk' | 'flipped-bit';
  readonly title: string;
  /** The means of the interruption, for curious readers. */
  readonly how: string;
  /** From SIGTERM to SIGKILL. */
  readonly graceMs: number;
  readonly interruption: 'terminate' | 'kill-in-save' | 'full-disk';
  /** Flips one bit of the newest checkpoint before the second start. */
  readonly flipsBit: boolean;
}

/** How long the trainer of the demo takes. Steps and saves are slow enough to be watched. */
export const TRAINING = { steps: 500, every: 100, stepSeconds: 0.004, saveSeconds: 0.8 } as const;

/** A checkpoint of step 200 fits below it, one of step 300 does not. */
export const FULL_DISK_BYTES = 12_800;

/**
 * The trainer gets its signal this many steps after its second save, and is killed in that save or
 * a later one.
 */
export const INTERRUPT = { afterSave: 200, atStep: 240, inSaveFrom: 200 } as const;

/** Every scene of the demo, in order. */
export const SCENES: readonly Scene[] = [
  {
    id: 'short-grace',
    title: 'SIGTERM with a grace of 0.4 s; a save takes 0.8 s',
    how: 'a Spot node that is gone sooner than the trainer can save',
    graceMs: 400,
    interruption: 'terminate',
    flipsBit: false,
  },
  {
    id: 'killed-save',
    title: 'SIGKILL in the middle of a save',
    how: 'what the kernel does when memory runs out',
    graceMs: 20_000,
    interruption: 'kill-in-save',
    flipsBit: false,
  },
  {
    id: 'full-disk',
    title: 'The disk is full in the middle of a save; then a person makes room',
    how: 'a limit on the file size simulates it: it needs no root and fails in the same way',
    graceMs: 20_000,
    interruption: 'full-disk',
    flipsBit: false,
  },
  {
    id: 'flipped-bit',
    title: 'SIGTERM with time enough; then one bit of the newest checkpoint flips',
    how: 'a disk, a cable or a memory module that returns one wrong bit',
    graceMs: 20_000,
    interruption: 'terminate',
    flipsBit: true,
  },
];
