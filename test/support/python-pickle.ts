import { spawnSync } from 'node:child_process';

/** A Python value in a form that both sides can build: text, numbers and containers by kind. */
export type PythonValue =
  | { readonly t: 'none' }
  | { readonly t: 'bool'; readonly v: boolean }
  | { readonly t: 'int'; readonly v: string }
  | { readonly t: 'float'; readonly v: number | 'nan' | 'inf' | '-inf' }
  | { readonly t: 'str'; readonly v: string }
  | { readonly t: 'bytes' | 'bytearray'; readonly v: string }
  | { readonly t: 'list' | 'tuple' | 'set' | 'frozenset' | 'shared' | 'deque'; readonly v: readonly PythonValue[] }
  | { readonly t: 'dict' | 'ordered'; readonly v: readonly (readonly [string, PythonValue])[] };

export interface Pickled {
  readonly pickle: string;
  /** The offset after STOP, by `pickletools`. */
  readonly end: number;
  readonly globals: readonly string[];
}

/**
 * Builds and pickles each value, and lists the pickle with `pickletools`. `shared` is a list that
 * contains one object twice, and itself.
 */
const SCRIPT = `
import base64, collections, json, pickle, pickletools, sys
def build(node):
    kind, value = node['t'], node.get('v')
    if kind == 'none': return None
    if kind == 'bool': return value
    if kind == 'int': return int(value)
    if kind == 'float': return float(value)
    if kind == 'str': return value
    if kind == 'bytes': return bytes.fromhex(value)
    if kind == 'bytearray': return bytearray.fromhex(value)
    if kind == 'dict': return {key: build(item) for key, item in value}
    if kind == 'ordered': return collections.OrderedDict((key, build(item)) for key, item in value)
    items = [build(item) for item in value]
    if kind == 'shared':
        items = [items, items]
        items.append(items)
    return items if kind in ('list', 'shared') else {'tuple': tuple, 'set': set, 'frozenset': frozenset, 'deque': collections.deque}[kind](items)
out = []
for case in json.load(sys.stdin):
    data = pickle.dumps(build(case['value']), protocol=case['protocol'])
    end, names, strings = 0, set(), []
    for op, arg, at in pickletools.genops(data):
        if op.name == 'GLOBAL': names.add(arg.replace(' ', '.', 1))
        if op.name == 'STOP': end = at + 1
    out.append({'pickle': base64.b64encode(data).decode(), 'end': end, 'globals': sorted(names)})
json.dump(out, sys.stdout)
`;

/** True when a Python 3 is on the path. */
export function hasPython(): boolean {
  return spawnSync('python3', ['--version']).status === 0;
}

export function pickleWithPython(cases: readonly { readonly value: PythonValue; readonly protocol: number }[]): readonly Pickled[] {
  const result = spawnSync('python3', ['-c', SCRIPT], { input: JSON.stringify(cases), maxBuffer: 256 * 1024 * 1024, encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`Python failed: ${result.stderr}`);
  return JSON.parse(result.stdout) as readonly Pickled[];
}
