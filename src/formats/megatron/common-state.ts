import type { Findings } from '../reading/findings.ts';
import { asInt, dictEntries, dictGet, member, type PickleValue } from '../encodings/pickle/value.ts';

/** How many ranks of each kind the arguments of a run speak of; null where they do not. */
export interface ParallelSizes {
  readonly tensor: number | null;
  readonly pipeline: number | null;
  readonly expert: number | null;
  readonly usesDistributedOptimizer: boolean;
}

/** The layout from the arguments that Megatron saves with every state. */
export function parallelSizes(state: PickleValue | undefined): ParallelSizes | null {
  const args = dictGet(state, 'args');
  const tensor = sizeOf(args, 'tensor_model_parallel_size');
  if (tensor === null) return null;
  // A separate encoder has ranks of its own, and its layout need not be a rectangle with the rest.
  const encoder = sizeOf(args, 'encoder_pipeline_model_parallel_size') ?? 0;
  return {
    tensor,
    pipeline: encoder > 0 ? null : (sizeOf(args, 'pipeline_model_parallel_size') ?? 1),
    expert: sizeOf(args, 'expert_model_parallel_size') ?? 1,
    usesDistributedOptimizer: member(args, 'use_distributed_optimizer') === true,
  };
}

function sizeOf(args: PickleValue | undefined, name: string): number | null {
  const size = asInt(member(args, name));
  return size !== null && size >= 0 && size <= 1_000_000 ? size : null;
}

/**
 * Notes what a Megatron state says about the run: iteration, world, and which of the things a
 * trainer needs it holds.
 */
export function noteMegatronState(state: PickleValue | undefined, file: string, findings: Findings): void {
  const { content } = findings;
  const iteration = asInt(dictGet(state, 'iteration'));
  if (iteration !== null) content.addStep(iteration, file, `${file}: iteration`);
  content.worldSize ??= sizeOf(dictGet(state, 'args'), 'world_size');
  for (const [key, value] of dictEntries(state)) {
    if (value === null) continue;
    if (/^model\d*$/.test(key)) content.add('weights', file);
    else if (key === 'opt_param_scheduler' || key === 'lr_scheduler') content.add('scheduler', file);
    else if (key === 'rng_state' || key === 'random_rng_state') content.add('rng', file);
  }
}
