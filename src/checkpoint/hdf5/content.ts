import type { Need } from '../content.ts';
import { needOfKey } from '../content-names.ts';

/** Groups that Keras keeps weights in, whatever the layers below are called. */
const KERAS_WEIGHTS = new Set(['layers', 'vars', 'model_weights', 'top_level_model_weights', '_layer_checkpoint_dependencies']);
/** Where Keras counts the updates of its optimizer: the first variable, or one named for it in the legacy layout. */
const KERAS_COUNTER = /^optimizer\/vars\/0$|^(?:optimizer_weights|training)\/(?:.+\/)?(?:iterations?|iter)(?::0)?$/;

/** What the dataset at a path is for: the first name on it that says so. Anything unnamed is taken for weights. */
export function needOfPath(path: string): Need {
  if (KERAS_COUNTER.test(path)) return 'step';
  const names = path.split('/');
  for (const [i, name] of names.entries()) {
    if (KERAS_WEIGHTS.has(name)) return 'weights';
    const need = needOfKey(name);
    // A counter is a dataset; a group of that name says nothing about what is in it.
    if (need !== null && (need !== 'step' || i === names.length - 1)) return need;
  }
  return 'weights';
}
