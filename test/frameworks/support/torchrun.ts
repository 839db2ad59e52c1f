import { dirname, join } from 'node:path';
import { familyOf, FRAMEWORKS, installFrameworks } from './python.ts';

const SCRIPT = 'trainers/torchrun_ddp.py';

/** A data-parallel trainer for torchrun. */
export const DDP_TRAINER = join(FRAMEWORKS, SCRIPT);
/** Small, and off any accelerator. */
export const TORCHRUN_ENV = { OMP_NUM_THREADS: '1', CUDA_VISIBLE_DEVICES: '' };

/** The torchrun of the frameworks that the trainer needs, installed where they are missing. */
export async function findTorchrun(): Promise<string> {
  const family = familyOf(SCRIPT);
  return join(dirname((await installFrameworks([family])).get(family) ?? ''), 'torchrun');
}
