import { around, branches, type PyNode } from './syntax-node.ts';
import { baseName } from './resolve.ts';
import { type FileCall, isRepeated, loadsOf, savesOf } from './saves.ts';
import type { Script } from './script.ts';

const LOADS = /(?<![A-Za-z])(?:load|resume|restore)\w*\s*\(|load_file|resume_from/i;
/** Loads of data and settings, which bring no training back. */
const OTHER_LOADS = /\b(?:load_dataset|load_data|load_dotenv|loadtxt|json\.loads?|yaml\.(?:safe_)?load|np\.load|numpy\.load)\s*\(/g;
const SAVES = /save|checkpoint|ckpt|snapshot|persist/i;
const EXPORT = /best|final|export|ema/i;

/** Nothing in the file, by whatever name, could bring back what was saved. */
export function loadsNothing(script: Script): boolean {
  return script.once('loads-nothing', () => loadsOf(script).length === 0 && !LOADS.test(script.code.replaceAll(OTHER_LOADS, '')));
}

/**
 * The repeated saves, where each of them writes weights alone and nothing else in the file could
 * save the rest; none where that cannot be told. Best and final weights are exports, and are left
 * out.
 */
export function saysOnlyWeights(script: Script): readonly FileCall[] {
  return script.once('only-weights', () => {
    const saves = savesOf(script).filter(({ call }) => isRepeated(script, call.node));
    const known = new Set(savesOf(script).map(({ call }) => call.node));
    const isElsewhere = script.calls.some(
      (call) =>
        SAVES.test(call.method) && !known.has(call.node) && script.calledFunction(call) === null && !/savefig|savetxt/.test(call.method),
    );
    return isElsewhere || !saves.every((save) => isBare(script, save)) ? [] : saves.filter((save) => !isExport(script, save));
  });
}

/** The weights and nothing else: `model.state_dict()`. */
export function isBare(script: Script, { object }: FileCall): boolean {
  return object !== null && /^[\w.]+\.state_dict\(\)$/.test(script.textOf(object)) && !/optim/i.test(script.textOf(object));
}

/**
 * A file for later use, not for a resume: by its name, or because a comparison of results decides
 * about it.
 */
export function isExport(script: Script, { call, paths }: FileCall): boolean {
  return paths.some((path) => EXPORT.test(baseName(path))) || isCompared(script, call.node, 3);
}

function isCompared(script: Script, node: PyNode, depth: number): boolean {
  const decides = (test: PyNode | null): boolean =>
    test !== null && /best|[<>]/i.test(script.textOf(test)) && !/step|epoch|iter/i.test(script.textOf(test));
  if ([...around(node)].some((at) => at.name === 'IfStatement' && branches(at).some(({ test }) => decides(test)))) return true;
  const fn = script.functionAround(node);
  const calls = fn === null || depth === 0 ? [] : script.callsOf(fn);
  return calls.length > 0 && calls.every((one) => isCompared(script, one.node, depth - 1));
}
