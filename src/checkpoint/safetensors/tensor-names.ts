import type { Need } from '../content.ts';

/** Names of per-parameter optimizer state that the common optimizers use. */
const STATE_NAME =
  /(^|[./_])(exp_avg|exp_avg_sq|max_exp_avg_sq|momentum_buffer|square_avg|acc_delta|grad_avg|exp_inf|fp32_from_fp16)([./_]|$)/i;
const OPTIMIZER_ROOT = /^(optim|optimizers?|optimizer_states?|optimizer_state_dict|optim_state|opt_states?)$/i;
const SCHEDULER_ROOT = /^(lr_scheduler|lr_schedulers|scheduler|schedulers|opt_param_scheduler)$/i;
const RNG_ROOT = /^(rng|rngs|rng_states?|random_states?|prng_key|(cuda|torch|cpu|numpy|python)_rng(_state)?)$/i;

/**
 * What a tensor with this full name is part of. Anything that is not plainly the state of an optimizer, a scheduler or a random
 * generator is a weight: models may call their modules almost anything.
 */
export function needOfTensor(name: string): Exclude<Need, 'step'> {
  const root = name.split(/[./]/, 1)[0] ?? '';
  if (OPTIMIZER_ROOT.test(root) || STATE_NAME.test(name)) return 'optimizer';
  if (SCHEDULER_ROOT.test(root)) return 'scheduler';
  if (RNG_ROOT.test(root)) return 'rng';
  return 'weights';
}
