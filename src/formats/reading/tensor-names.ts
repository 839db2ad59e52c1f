import type { Need } from './content.ts';

type Part = Exclude<Need, 'step'>;

/** Names of per-parameter optimizer state that the common optimizers use. */
const STATE_NAME =
  /(^|[./_])(exp_avg|exp_avg_sq|max_exp_avg_sq|momentum_buffer|square_avg|acc_delta|grad_avg|exp_inf|fp32_from_fp16)([./_]|$)/i;

const ROOTS: readonly (readonly [Part, RegExp])[] = [
  ['optimizer', /^(optim|optimizers?|optimizer_states?|optimizer_state_dict|optim_state|opt_states?)(_\d+)?$/i],
  ['scheduler', /^(lr_schedulers?|schedulers?|opt_param_scheduler|lr_scheduler_state)$/i],
  ['rng', /^(rng|rngs|rng_states?|random_states?|prng_key|(cuda|torch|cpu|numpy|python)_rng(_states?)?)([_.-]?\d+)?$/i],
];

/**
 * What a tensor with this full name is part of. Anything that is not plainly the state of an
 * optimizer, a scheduler or a random generator is a weight: models may call their modules almost
 * anything. `depth` parts of the name are looked at: where the names come from a whole training
 * state its own folders stand in front (`app.optim.state…`).
 */
export function needOfTensor(name: string, depth = 1): Part {
  return stateOfName(name, depth) ?? 'weights';
}

/** Like {@link needOfTensor}, null for what is not plainly such a state. */
export function stateOfName(name: string, depth = 1): Part | null {
  if (STATE_NAME.test(name)) return 'optimizer';
  for (const part of name.split(/[./]/, depth)) {
    const root = ROOTS.find(([, pattern]) => pattern.test(part));
    if (root !== undefined) return root[0];
  }
  return null;
}
