import type { Fn, PyNode } from './syntax-node.ts';
import { argumentNodes } from './resolve.ts';
import { type FileCall, isOptimizerStep, receiverText, savesOf } from './saves.ts';
import type { Script } from './script.ts';

/** What a training is made of, and must come back with. */
export const COMPONENTS = ['model', 'optimizer', 'scheduler', 'scaler', 'sampler', 'step', 'random'] as const;
/** A part of the training state that a checkpoint may hold. */
export type Component = (typeof COMPONENTS)[number];

const KEYS: Readonly<Record<Component, RegExp>> = {
  model: /model|net\b|network|weights|params|state_dict$|encoder|decoder|generator/i,
  optimizer: /optim|^opt$|_opt$/i,
  scheduler: /sched|^lr|_lr$/i,
  scaler: /scaler|\bamp|grad_scale/i,
  sampler: /sampler|loader/i,
  step: /step|epoch|iter|batch|progress|^i$|num_/i,
  random: /rng|random|seed/i,
};

const VALUES: Readonly<Record<Component, RegExp>> = {
  ...KEYS,
  random: /get_rng_state|getstate|get_state\(|rng/i,
};

/** A key of what is saved, and the text of its value. */
type Part = readonly [key: string, value: string];

/** Keys and values of what a save writes; null where that cannot be told. */
export function partsOfSave(script: Script, { object }: FileCall): readonly Part[] | null {
  return object === null ? null : partsOf(script, object, script.functionAround(object), 3);
}

/** What a save holds: components by their keys and values; null where that cannot be told. */
function savedComponents(script: Script, save: FileCall): ReadonlySet<Component> | null {
  const parts = partsOfSave(script, save);
  if (parts === null) return null;
  return new Set(
    COMPONENTS.filter((component) => parts.some(([key, value]) => KEYS[component].test(key) || VALUES[component].test(value))),
  );
}

/** Keys and values of what is saved, in texts. */
function partsOf(script: Script, node: PyNode, fn: Fn | null, depth: number): readonly Part[] | null {
  if (depth < 0) return null;
  if (node.name === 'DictionaryExpression') return dictionary(script, node);
  if (node.name === 'CallExpression') return fromCall(script, node, depth);
  if (node.name !== 'VariableName') return null;
  return ofVariable(script, script.textOf(node), fn, depth);
}

function ofVariable(script: Script, name: string, fn: Fn | null, depth: number): readonly Part[] | null {
  const own = script.assignedTo(name).filter((one) => one.fn === fn);
  if (own.length === 0 && fn?.params.includes(name) === true) {
    const passed = argumentNodes(script, fn, name);
    return passed.length === 1 && passed[0] !== undefined ? partsOf(script, passed[0], script.functionAround(passed[0]), depth - 1) : null;
  }
  const [first] = own;
  if (own.length !== 1 || first?.value == null) return null;
  const parts = partsOf(script, first.value, fn, depth - 1);
  if (parts === null || script.calls.some((call) => call.method === 'update' && receiverText(script, call) === name)) return null;
  const added = script.assignments.filter((one) => one.fn === fn && one.target.startsWith(`${name}[`));
  return [
    ...parts,
    ...added.map((one): [string, string] => [one.target.slice(name.length), one.value === null ? '' : script.textOf(one.value)]),
  ];
}

function dictionary(script: Script, node: PyNode): readonly Part[] | null {
  const parts: Part[] = [];
  const { children } = node;
  for (const [index, child] of children.entries()) {
    if (child.name === '**') return null;
    const [key, value] = [children[index - 1], children[index + 1]];
    if (child.name === ':' && key !== undefined && value !== undefined)
      parts.push([script.textOf(key).replaceAll(/["']/g, ''), script.textOf(value).slice(0, 400)]);
  }
  return parts.length === 0 ? null : parts;
}

function fromCall(script: Script, node: PyNode, depth: number): readonly Part[] | null {
  const call = script.callAt(node);
  if (call === undefined) return null;
  if (call.callee === 'dict' && !call.isOpen && call.args.length === 0)
    return [...call.keywords].map(([key, value]) => [key, script.textOf(value)]);
  // The weights alone.
  if (call.method === 'state_dict') return [[receiverText(script, call), 'state_dict']];
  const fn = script.calledFunction(call);
  const returned = fn?.node.children.find(({ name }) => name === 'Body')?.children.findLast(({ name }) => name === 'ReturnStatement')
    ?.children[1];
  return fn === null || returned === undefined ? null : partsOf(script, returned, fn, depth - 1);
}

/**
 * What the file trains with, by what it calls: an optimizer that steps, a scheduler that steps, a
 * scaler that scales.
 */
export function usedComponents(script: Script): ReadonlySet<Component> {
  return script.once('used', () => {
    const used = new Set<Component>();
    if (script.calls.some((call) => isOptimizerStep(script, call))) used.add('optimizer');
    if (script.calls.some((call) => call.method === 'step' && /sched/i.test(receiverText(script, call)))) used.add('scheduler');
    const scalers = script.assignments.filter(
      ({ value }) => value !== null && /GradScaler\(/.test(script.textOf(value)) && !/enabled\s*=\s*False/.test(script.textOf(value)),
    );
    if (scalers.length > 0 && script.calls.some((call) => call.method === 'scale')) used.add('scaler');
    if (script.calls.some(({ method }) => /^Stateful(?:DataLoader|DistributedSampler)$/.test(method))) used.add('sampler');
    return used;
  });
}

/**
 * A save that a training can resume from: weights and something beside them; of the others rules
 * say nothing.
 */
export function resumeSaves(script: Script): readonly { readonly save: FileCall; readonly holds: ReadonlySet<Component> }[] {
  return savesOf(script).flatMap((save) => {
    const holds = savedComponents(script, save);
    return holds !== null && holds.has('model') && holds.size > 1 ? [{ save, holds }] : [];
  });
}

/** Which components a `load_state_dict` brings back. */
export function loadedComponents(script: Script): ReadonlySet<Component> {
  return script.once('loaded', () => {
    const texts = script.calls
      .filter(({ method }) => method === 'load_state_dict' || method === 'set_rng_state' || method === 'set_state_dict')
      .map(
        (call) => `${receiverText(script, call)} ${[...call.args, ...call.keywords.values()].map((one) => script.textOf(one)).join(' ')}`,
      );
    return new Set(
      COMPONENTS.filter((component) => texts.some((text) => text.split(/[\s[\]"'().]+/).some((word) => KEYS[component].test(word)))),
    );
  });
}
