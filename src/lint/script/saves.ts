import { around, branches, type Call, type Fn, isFunction, loopsAround, type PyNode, statementOf, within } from './syntax-node.ts';
import { textsOf } from './resolve.ts';
import type { Script } from './script.ts';

/** A place where state goes into a file, or comes out of one. */
export interface FileCall {
  readonly call: Call;
  /** What is saved; null for a load. */
  readonly object: PyNode | null;
  readonly target: PyNode;
  /** The texts that the path may have. */
  readonly paths: readonly string[];
  /** The path is an open file, so that its name is that of the `open`. */
  readonly isHandle: boolean;
}

const SAVERS: Readonly<Record<string, readonly [object: number, path: number, keyword: string]>> = {
  'torch.save': [0, 1, 'f'],
  'torch_xla.core.xla_model.save': [0, 1, 'file_or_path'],
  'xm.save': [0, 1, 'file_or_path'],
  'pickle.dump': [0, 1, 'file'],
  'joblib.dump': [0, 1, 'filename'],
};
const LOADERS: Readonly<Record<string, readonly [path: number, keyword: string]>> = {
  'torch.load': [0, 'f'],
  'pickle.load': [0, 'file'],
  'joblib.load': [0, 'filename'],
};

/** Everything that is saved as one file: `torch.save`, `accelerator.save`, `pickle.dump`. */
export function savesOf(script: Script): readonly FileCall[] {
  return script.once('saves', () =>
    script.calls.flatMap((call): FileCall[] => {
      const known =
        SAVERS[call.callee] ??
        (call.method === 'save' && /^(?:self\.)?(?:accelerator|fabric)$/.test(receiverText(script, call))
          ? ([0, 1, 'f'] as const)
          : undefined);
      if (known === undefined) return [];
      const [object, target] = [
        call.args[known[0]] ?? call.keywords.get('obj') ?? null,
        call.args[known[1]] ?? call.keywords.get(known[2]),
      ];
      return target === undefined ? [] : [{ call, object, target, ...pathsOf(script, target) }];
    }),
  );
}

/** Everything that is loaded from one file. */
export function loadsOf(script: Script): readonly FileCall[] {
  return script.once('loads', () =>
    script.calls.flatMap((call): FileCall[] => {
      const known = LOADERS[call.callee];
      const target = known === undefined ? undefined : (call.args[known[0]] ?? call.keywords.get(known[1]));
      return target === undefined ? [] : [{ call, object: null, target, ...pathsOf(script, target) }];
    }),
  );
}

function pathsOf(script: Script, target: PyNode): { paths: readonly string[]; isHandle: boolean } {
  const value = script.assignedTo(script.textOf(target)).find((one) => one.fn === script.functionAround(target))?.value;
  const opened = value === undefined || value === null ? target : value;
  const isHandle = /^(?:[\w.]+\.)?open\(|NamedTemporaryFile\(|fdopen\(/.test(script.textOf(opened));
  return { paths: textsOf(script, target), isHandle };
}

/** The text before the dot of a call. */
export function receiverText(script: Script, { receiver }: Pick<Call, 'receiver'>): string {
  return receiver === null ? '' : script.textOf(receiver);
}

/** A save or a load is repeated: it stands in a loop, or in a function that is called in one. */
export function isRepeated(script: Script, node: PyNode, depth = 3): boolean {
  if (loopsAround(node).length > 0) return true;
  const fn = script.functionAround(node);
  return (
    fn !== null &&
    depth > 0 &&
    script.onceFor(fn, `repeated-${depth}`, () => script.callsOf(fn).some((call) => isRepeated(script, call.node, depth - 1)))
  );
}

const RANK =
  /\brank\b|_rank\b|\bdevice_id\b|\bis_(?:main|master|chief|primary|world_process_zero|local_process_zero|local_main|global_zero|rank_?0|rank_?zero)|master_process|main_process|is_global_zero|process_index|is_main_process|\bprimary\b|rank_zero|is_root/i;

/**
 * Only one rank comes here: an `if` about ranks stands around it, a function returns early for the
 * others, or all callers see to it.
 */
export function isForOneRank(script: Script, node: PyNode, depth = 3): boolean {
  let inner = node;
  for (const at of around(node)) {
    if (
      at.name === 'IfStatement' &&
      branches(at).some(({ test, body }) => test !== null && body === inner && RANK.test(script.textOf(test)))
    )
      return true;
    inner = at;
  }
  const fn = script.functionAround(node);
  if (fn === null) return false;
  const decorated = fn.node.parent?.name === 'DecoratedStatement' ? script.text.slice(fn.node.parent.from, fn.node.from) : '';
  if (RANK.test(decorated) || returnsEarly(script, fn, node)) return true;
  if (depth === 0) return false;
  return script.onceFor(fn, `one-rank-${depth}`, () => {
    const calls = script.callsOf(fn);
    return calls.length > 0 && calls.every((call) => isForOneRank(script, call.node, depth - 1));
  });
}

function returnsEarly(script: Script, fn: Fn, node: PyNode): boolean {
  return script
    .onceFor(fn, 'early-returns', () => [...within(fn.node)].filter((at) => at.name === 'IfStatement' && leavesOthers(script, at)))
    .some((at) => at.to <= node.from);
}

function leavesOthers(script: Script, at: PyNode): boolean {
  return branches(at).some(
    ({ test, body }) => test !== null && RANK.test(script.textOf(test)) && body.children.some(({ name }) => name === 'ReturnStatement'),
  );
}

/** Several processes run this script as one training. */
export function isDistributed(script: Script): boolean {
  return script.once('distributed', () =>
    script.calls.some(
      ({ callee, method }) =>
        /init_process_group$|DistributedDataParallel$|FullyShardedDataParallel$|DistributedSampler$/.test(callee) ||
        method === 'init_process_group' ||
        /horovod.*\.init$|^hvd\.init$/.test(callee),
    ),
  );
}

/** Frameworks that keep state by means of their own, so that plain saves say little. */
export function hasOwnSaving(script: Script): boolean {
  return script.once('own-saving', () =>
    /\b(?:holdfast|deepspeed|torch\.distributed\.checkpoint|megatron|composer|orbax|nemo|torchtitan|fairscale)\b/.test(importText(script)),
  );
}

/** The script takes part in `holdfast run` by itself. */
export function usesHoldfast(script: Script): boolean {
  return /\bholdfast\b/.test(importText(script));
}

/** All import statements of the file. */
export function importText(script: Script): string {
  return script.once('imports', () => (script.text.match(/^[ \t]*(?:import|from)[ \t][^\n]*/gm) ?? []).join('\n'));
}

/** Steps are made here: the file trains, and does not only define things. */
export function trainsHere(script: Script): boolean {
  return script.once('trains', () =>
    script.calls.some((call) => call.method === 'backward' || isOptimizerStep(script, call) || isStepElsewhere(script, call)),
  );
}

/**
 * `run_epoch(model, optimizer, loader)` in a loop: another file, or a part left out, makes the
 * steps.
 */
function isStepElsewhere(script: Script, call: Call): boolean {
  return (
    /train|epoch|step|fit/i.test(call.method) &&
    call.args.some((one) => OPTIMIZER.test(script.textOf(one))) &&
    loopsAround(call.node).length > 0
  );
}

const OPTIMIZER = /(?:^|[._])(?:optim\w*|opt|adam\w*|sgd)$/i;

/** `optimizer.step()`, also through a scaler. */
export function isOptimizerStep(script: Script, call: Call): boolean {
  const [argument] = call.args;
  const scaled = /scaler$/i.test(receiverText(script, call)) && argument !== undefined && OPTIMIZER.test(script.textOf(argument));
  return call.method === 'step' && (scaled || OPTIMIZER.test(receiverText(script, call)));
}

/**
 * The statements of the same body behind a node, and those behind the calls of its function, one
 * level up.
 */
export function comesBefore(script: Script, first: PyNode, second: PyNode): boolean {
  const [a, b] = [script.functionAround(first), script.functionAround(second)];
  return a === b && first.to <= second.from && !isFunction(statementOf(second));
}

/**
 * The loop that makes steps around a node: one that holds `backward` or a step of the optimizer.
 */
export function isTrainingLoop(script: Script, loop: PyNode): boolean {
  return script.callsIn(loop).some((call) => call.method === 'backward' || isOptimizerStep(script, call));
}
