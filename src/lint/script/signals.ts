import { around, branches, type Call, type Fn, type PyNode, within } from './syntax-node.ts';
import { savesOf } from './saves.ts';
import type { Script } from './script.ts';

/** A handler of SIGTERM as it is registered. */
export interface Handler {
  readonly call: Call;
  /** The function, where it is one of this file. */
  readonly fn: Fn | null;
  /** SIG_IGN: the signal is thrown away. */
  readonly isIgnored: boolean;
  readonly isDefault: boolean;
  /** What it sets for others to look at: `stop`, `self.stop`. */
  readonly flags: ReadonlySet<string>;
}

/** All handlers of SIGTERM that the file registers. */
export function handlersOf(script: Script): readonly Handler[] {
  return script.once('handlers', () =>
    script.calls.flatMap((call): Handler[] => {
      const isSignal = call.callee === 'signal.signal' || call.method === 'add_signal_handler';
      const [which, what] = call.args;
      if (!isSignal || which === undefined || what === undefined || !isSigterm(script, which)) return [];
      const text = script.textOf(what);
      const fn = functionOf(script, what);
      return [
        {
          call,
          fn,
          isIgnored: text.endsWith('SIG_IGN'),
          isDefault: text.endsWith('SIG_DFL'),
          flags: fn === null ? new Set() : flagsOf(script, fn),
        },
      ];
    }),
  );
}

function isSigterm(script: Script, which: PyNode): boolean {
  const text = script.textOf(which);
  if (/SIGTERM/.test(text) || /^(?:15|signal\.Signals\(15\))$/.test(text)) return true;
  for (const at of around(which)) {
    if (at.name !== 'ForStatement') continue;
    const head = script.textOf(at).slice(0, 400).split(':')[0] ?? '';
    if (/SIGTERM/.test(head)) return true;
  }
  return script.assignedTo(text).some(({ value }) => value !== null && /SIGTERM/.test(script.textOf(value)));
}

function functionOf(script: Script, node: PyNode): Fn | null {
  if (node.name === 'LambdaExpression') return script.functions.find((fn) => fn.node === node) ?? null;
  const name = script.textOf(node).split('.').at(-1);
  const found = script.functionsNamed(name ?? '');
  return found.length === 1 ? (found[0] ?? null) : null;
}

/** What a handler leaves for the loop: globals, attributes, events, entries of a dictionary. */
function flagsOf(script: Script, fn: Fn): ReadonlySet<string> {
  const flags = new Set<string>();
  const globals = new Set(
    [...within(fn.node)]
      .filter(({ name }) => name === 'ScopeStatement')
      .flatMap((node) => node.children.slice(1).map((child) => script.textOf(child))),
  );
  for (const { target, fn: owner } of script.assignments) {
    if (owner !== fn) continue;
    if (globals.has(target) || target.includes('.')) flags.add(target);
    else if (/\[/.test(target)) flags.add(target.replace(/\[.*$/s, ''));
  }
  for (const call of script.callsIn(fn.node))
    if (call.method === 'set' && call.receiver !== null && call.args.length === 0) flags.add(script.textOf(call.receiver));
  return flags;
}

/** The tests that look at a flag: `if stop:`, `while not stop:`, with what they guard. */
export interface FlagTest {
  readonly node: PyNode;
  readonly test: PyNode;
  readonly body: PyNode | null;
}

/** Where the flags of the handlers are looked at, outside of the handlers. */
export function flagTests(script: Script): readonly FlagTest[] {
  return script.once('flag-tests', () => {
    const handlers = handlersOf(script);
    const names = [...new Set(handlers.flatMap(({ flags }) => [...flags]))].map((flag) => flag.replace(/^self\./, ''));
    if (names.length === 0) return [];
    const pattern = new RegExp(`(?<![\\w])(?:${names.map((name) => name.replaceAll(/[^\w]/g, '\\$&')).join('|')})(?!\\w)`);
    const known = new Set(handlers.map(({ fn }) => fn?.node));
    return [...within(script.root)].flatMap((node): FlagTest[] => {
      const own = script.functionAround(node)?.node;
      if ((node.name !== 'IfStatement' && node.name !== 'WhileStatement') || (own !== undefined && known.has(own))) return [];
      if (node.name === 'WhileStatement') {
        const test = node.children[1];
        return test !== undefined && pattern.test(script.textOf(test)) ? [{ node, test, body: null }] : [];
      }
      return branches(node).flatMap(({ test, body }) => (test !== null && pattern.test(script.textOf(test)) ? [{ node, test, body }] : []));
    });
  });
}

/** The bodies of `except` that catch by name what a handler raises: `KeyboardInterrupt`. */
export function catchesOf(script: Script): readonly PyNode[] {
  const raised = new Set(
    handlersOf(script).flatMap(({ fn }) =>
      fn === null ? [] : [...within(fn.node)].flatMap((node) => /^raise\s+([\w.]+)/.exec(raiseText(script, node))?.[1] ?? []),
    ),
  );
  raised.delete('SystemExit');
  if (raised.size === 0) return [];
  return [...within(script.root)]
    .filter(({ name }) => name === 'TryStatement')
    .flatMap(({ children }) =>
      children.filter((body, index) => {
        const clause = children.slice(children.slice(0, index).findLastIndex(({ name }) => name === 'except') + 1, index);
        const names = clause
          .map((one) => script.textOf(one))
          .join(' ')
          .split(/[^\w.]+/);
        return body.name === 'Body' && children[0] !== clause[0] && names.some((name) => raised.has(name));
      }),
    );
}

function raiseText(script: Script, node: PyNode): string {
  return node.name === 'RaiseStatement' ? script.textOf(node) : '';
}

/** An end of the process that is written in the code. */
export interface Exit {
  readonly node: PyNode;
  readonly code: 'zero' | 'other' | 'unknown';
}

/** The ends of the process within a node, also in functions of this file that it calls. */
export function exitsIn(script: Script, node: PyNode, depth = 2): readonly Exit[] {
  const calls = script.callsIn(node);
  const own = calls.flatMap((call): Exit[] => {
    if (!/^(?:sys\.exit|os\._exit|exit|quit|SystemExit)$/.test(call.callee)) return [];
    return [{ node: call.node, code: exitCode(script, call.args[0]) }];
  });
  const bare = [...within(node)]
    .filter((one) => one.name === 'RaiseStatement' && /^raise\s+SystemExit\s*$/.test(script.textOf(one)))
    .map((one): Exit => ({ node: one, code: 'zero' }));
  const inner = depth > 0 ? calls.flatMap((call) => called(script, call, depth)) : [];
  return [...own, ...bare, ...inner];
}

function called(script: Script, call: Call, depth: number): readonly Exit[] {
  const fn = script.calledFunction(call);
  return fn === null ? [] : script.onceFor(fn, `exits-${depth}`, () => exitsIn(script, fn.node, depth - 1));
}

function exitCode(script: Script, argument: PyNode | undefined): Exit['code'] {
  if (argument === undefined) return 'zero';
  const text = script.textOf(argument);
  if (/^(?:0|None|False|os\.EX_OK)$/.test(text)) return 'zero';
  return argument.name === 'Number' || argument.name === 'String' || /^\d+\s*\+|^os\.EX_/.test(text) ? 'other' : 'unknown';
}

const COLLECTIVE =
  /^(?:torch\.distributed|dist)\.(?:barrier|monitored_barrier|all_\w+|broadcast\w*|reduce\w*|gather\w*|scatter\w*)$|\.wait_for_everyone$/;

/** A call within a node that waits for all ranks, also in functions of this file that it calls. */
export function collectiveIn(script: Script, node: PyNode, depth = 2): Call | null {
  for (const call of script.callsIn(node)) {
    if (COLLECTIVE.test(call.callee)) return call;
    const fn = depth > 0 ? script.calledFunction(call) : null;
    const inner = fn === null ? null : script.onceFor(fn, `collective-${depth}`, () => collectiveIn(script, fn.node, depth - 1));
    if (inner !== null) return call;
  }
  return null;
}

/** The saves within a node, also in functions of this file that it calls. */
export function savesWithin(script: Script, node: PyNode, depth = 2): boolean {
  if (savesOf(script).some(({ call }) => call.node.from >= node.from && call.node.to <= node.to)) return true;
  return script.callsIn(node).some((call) => {
    if (/^(?:save_checkpoint|save_state|save_model|save_pretrained|save_weights)$/.test(call.method)) return true;
    const fn = depth > 0 ? script.calledFunction(call) : null;
    return fn !== null && script.onceFor(fn, `saves-${depth}`, () => savesWithin(script, fn.node, depth - 1));
  });
}
