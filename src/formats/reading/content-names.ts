import type { Need } from './content.ts';

/**
 * What a key of a training state holds, judged by the names the frameworks and their users give.
 * Used for the top-level keys of a pickled dictionary, the first parts of a tensor's full name, and
 * item folders alike.
 */
export function needOfKey(key: string): Need | null {
  for (const [need, pattern] of KEYS) if (pattern.test(key)) return need;
  return null;
}

const KEYS: readonly (readonly [Need, RegExp])[] = [
  ['rng', /(^|[_.\-/])(rng|rngs|random|prng)([_.\-/]|$)|rng_states?|random_states?|^cuda_rng|^torch_rng|^numpy_rng|seed_state/i],
  ['scheduler', /sched|^lr_|(^|[_.\-/])lr_sched/i],
  [
    'optimizer',
    /(^|[_.\-/])(optim|optimizers?|opt|opt_state|optimizer_states?|opt_states?|optimizer_state_dict|adam\w*|sgd|momentum|slots?)([_.\-/0-9]|$)|^optim|exp_avg|optimizer/i,
  ],
  ['step', /^(global_?steps?|steps?|iterations?|iter|current_step|num_steps|train_steps?|batch(es)?_seen|global_batch)$/i],
  [
    'weights',
    /^(model|models|module|modules|state_dict|model_state(_dict)?|params?|parameters|weights?|net|network|ema|generator|discriminator|encoder|decoder|policy|actor|critic|backbone)$/i,
  ],
];
