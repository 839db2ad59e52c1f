import { type Call, type PyNode, within } from './syntax-node.ts';
import { loadsOf } from './saves.ts';
import type { Script } from './script.ts';
import { type Component, partsOfSave, resumeSaves } from './state.ts';

const RANDOM_STATES = /get_rng_state|\bgetstate\(/;
const RESTORES_RANDOM = /set_rng_state|setstate\(|set_state\(/;
const STEP = /^(?:global_|current_|cur_|last_|total_|completed_)?(?:step|epoch|iteration|iter|iter_num|batch)s?$/i;

/**
 * What is saved and needs no `load_state_dict` to come back, where nothing in the file reads it:
 * the step, and the states of the random numbers. Nothing where the checkpoint as a whole goes
 * somewhere else.
 */
export function neverRead(script: Script): ReadonlySet<Component> {
  return script.once('never-read', () => {
    const parts = resumeSaves(script).flatMap(({ save }) => partsOfSave(script, save) ?? []);
    const unread = new Set<Component>();
    if (!readsItself(script)) return unread;
    const steps = parts.map(([key]) => key).filter((key) => STEP.test(key));
    if (steps.length > 0 && !steps.some((key) => isAccessed(script, key))) unread.add('step');
    if (parts.some(([, value]) => RANDOM_STATES.test(value)) && !RESTORES_RANDOM.test(script.code)) unread.add('random');
    return unread;
  });
}

/** Every load goes into a variable of which only single entries are used. */
function readsItself(script: Script): boolean {
  const loads = loadsOf(script);
  return loads.length > 0 && loads.every(({ call }) => isTakenApart(script, call));
}

function isTakenApart(script: Script, { node, fn }: Call): boolean {
  const name = script.assignments.find(({ value }) => value === node)?.target;
  if (name === undefined) return false;
  const names = script.once('names', () =>
    Map.groupBy(
      [...within(script.root)].filter((one) => one.name === 'VariableName'),
      (one) => script.textOf(one),
    ),
  );
  return (names.get(name) ?? []).every((use) => script.functionAround(use) !== fn || isEntry(script, use));
}

/** `state["step"]`, `state.get("step")`, or where the variable gets its value. */
function isEntry(script: Script, use: PyNode): boolean {
  const { parent } = use;
  if (parent?.name === 'AssignStatement') return parent.children[0] === use;
  const [object, mark, property] = parent?.name === 'MemberExpression' ? parent.children : [];
  return object === use && (mark?.name === '[' || (property !== undefined && script.textOf(property) === 'get'));
}

function isAccessed(script: Script, key: string): boolean {
  return ['[', 'get('].some((open) => [`${open}"${key}"`, `${open}'${key}'`].some((text) => script.code.includes(text)));
}
