import type { Need } from '../../reading/content.ts';
import { needOfKey } from '../../reading/content-names.ts';

/** Groups in which Keras keeps weights, whatever the names of the layers below. */
const KERAS_WEIGHTS = new Set(['layers', 'vars', 'model_weights', 'top_level_model_weights', '_layer_checkpoint_dependencies']);
/**
 * Where Keras counts the updates of its optimizer: the first variable, or a variable with the
 * counter's name in the legacy layout.
 */
const KERAS_COUNTER = /^optimizer\/vars\/0$|^(?:optimizer_weights|training)\/(?:.+\/)?(?:iterations?|iter)(?::0)?$/;

/**
 * Returns the purpose of the dataset at a path, from the first name on the path that shows one. A
 * dataset without such a name counts as weights.
 */
export function needOfPath(path: string): Need {
  if (KERAS_COUNTER.test(path)) return 'step';
  const names = path.split('/');
  for (const [i, name] of names.entries()) {
    if (KERAS_WEIGHTS.has(name)) return 'weights';
    const need = needOfKey(name);
    // A counter is a dataset; a group with a counter's name says nothing about its content.
    if (need !== null && (need !== 'step' || i === names.length - 1)) return need;
  }
  return 'weights';
}
