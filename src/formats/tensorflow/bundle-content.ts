import type { Need } from '../reading/content.ts';
import { needOfKey } from '../reading/content-names.ts';
import { isFloating } from './bundle.ts';

/** Ends of the names that the optimizers of version 1 give to what they keep beside a variable. */
const OPTIMIZER_SLOT = /\/(Adam|AdamW|Adamax|Momentum|RMSProp|Adagrad|AdagradDA|Adadelta|Ftrl|Nadam|LARS|LAMB)(_\d+)?$/;
const OPTIMIZER_COUNTER = /(^|\/)beta[12]_power(_\d+)?$/;
const VALUE_SUFFIX = /\/\.ATTRIBUTES\/[A-Z_]+$/;

/** The key without the suffix that every variable of an object graph has. */
export function plainKey(key: string): string {
  return key.replace(VALUE_SUFFIX, '');
}

/**
 * What a tensor is for, judged by its key and type; null for what a trainer does not need (the
 * object graph, counters of saves).
 */
export function needOfTensor(key: string, dtype: number): Need | null {
  if (key === '_CHECKPOINTABLE_OBJECT_GRAPH' || key.startsWith('save_counter/')) return null;
  if (belongsToOptimizer(key)) return 'optimizer';
  const [first = '', ...rest] = plainKey(key).split('/');
  if (rest.at(-1) === '_state_var') return 'rng';
  const need = needOfKey(first);
  if (need === 'step') return rest.length === 0 ? 'step' : null;
  return need ?? (isFloating(dtype) ? 'weights' : null);
}

function belongsToOptimizer(key: string): boolean {
  if (key.includes('/.OPTIMIZER_SLOT/') || OPTIMIZER_SLOT.test(key) || OPTIMIZER_COUNTER.test(key)) return true;
  return key.split('/').some((part) => /^_?optimizers?$/i.test(part));
}

/**
 * How well a key names the trainer's step: 2 for a counter of its own, 1 for the optimizer's, 0 for
 * anything else.
 */
export function stepRank(key: string): 0 | 1 | 2 {
  const plain = plainKey(key);
  if (plain !== 'save_counter' && needOfKey(plain) === 'step') return 2;
  return /(^|\/)_?optimizers?\/(_?iterations|iter)$/i.test(plain) ? 1 : 0;
}
