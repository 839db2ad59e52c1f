/** One way in which training is interrupted. */
export interface Scene {
  readonly id: 'short-grace' | 'killed-save' | 'full-disk' | 'flipped-bit';
  readonly title: string;
  /** How it is brought about, for who wants to know. */
  readonly how: string;
  /** From SIGTERM to SIGKILL. */
  readonly graceMs: number;
  readonly interruption: 'terminate' | 'kill-in-save' | 'full-disk';
  /** One bit of the newest checkpoint is flipped before the trainer is started again. */
  readonly flipsBit: boolean;
}

/** How long the trainer of the demo takes. Steps and saves are slow enough to be watched. */
export const TRAINING = { steps: 500, every: 100, stepSeconds: 0.004, saveSeconds: 0.8 } as const;

/** A checkpoint of step 200 fits below it, one of step 300 does not. */
export const FULL_DISK_BYTES = 12_800;

/** A trainer is told to end once it has done so many steps after its second save, and is killed in that save or a later one. */
export const INTERRUPT = { afterSave: 200, atStep: 240, inSaveFrom: 200 } as const;

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
    title: 'The disk is full in the middle of a save; then somebody makes room',
    how: 'a limit on the size of files stands in for it: no root, the same failure',
    graceMs: 20_000,
    interruption: 'full-disk',
    flipsBit: false,
  },
  {
    id: 'flipped-bit',
    title: 'SIGTERM with time enough; then one bit of the newest checkpoint flips',
    how: 'a disk, a cable or a memory module that lies once',
    graceMs: 20_000,
    interruption: 'terminate',
    flipsBit: true,
  },
];
