import type { Call, Fn, PyNode } from './syntax-node.ts';
import type { Script } from './script.ts';

/**
 * Texts that an expression may have; what is not known stands in braces: `/runs/step-{step}.pt`.
 */
const MOST = 8;
const DEEPEST = 8;
/** How many expressions are followed for one; what is assigned thousands of times has no end. */
const MOST_FOLLOWED = 2_000;

/**
 * The texts (mostly paths) that an expression may have. One entry of nothing but braces means that
 * nothing is known.
 */
export function textsOf(script: Script, node: PyNode | null | undefined, depth = 0): readonly string[] {
  if (node === null || node === undefined) return ['{?}'];
  if (depth > DEEPEST) return [unknown(script, node)];
  const memory = script.once('texts', () => ({ known: new Map<PyNode, readonly string[]>(), followed: 0 }));
  if (depth > 0) return ++memory.followed > MOST_FOLLOWED ? [unknown(script, node)] : textsBelow(script, node, depth);
  memory.followed = 0;
  const texts = memory.known.get(node) ?? textsBelow(script, node, depth);
  memory.known.set(node, texts);
  return texts;
}

function textsBelow(script: Script, node: PyNode, depth: number): readonly string[] {
  const found = [...new Set(resolve(script, node, depth + 1))].slice(0, MOST);
  return found.length === 0 ? [unknown(script, node)] : found;
}

/** The part of a path behind its last slash. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Nothing in it is left open. */
export function isKnown(path: string): boolean {
  return !path.includes('{');
}

function unknown(script: Script, node: PyNode): string {
  const text = script.textOf(node);
  return `{${/^[\w.]{1,60}$/.test(text) ? text : '?'}}`;
}

function resolve(script: Script, node: PyNode, depth: number): readonly string[] {
  switch (node.name) {
    case 'String':
      return [literal(script.textOf(node))];
    case 'ContinuedString':
      return [node.children.map((part) => textsOf(script, part, depth)[0] ?? '').join('')];
    case 'FormatString':
      return [formatted(script, node)];
    case 'ParenthesizedExpression':
      return textsOf(script, node.children[1], depth);
    case 'ConditionalExpression':
      return [...textsOf(script, node.children[0], depth), ...textsOf(script, node.children.at(-1), depth)];
    case 'BinaryExpression':
      return binary(script, node, depth);
    case 'CallExpression':
      return called(script, node, depth);
    case 'VariableName':
      return variable(script, node, depth);
    case 'MemberExpression':
      return member(script, node, depth);
    default:
      return [unknown(script, node)];
  }
}

function literal(text: string): string {
  return text.replace(/^[rbuRBU]{0,2}("""|'''|"|')(.*)\1$/s, '$2');
}

function formatted(script: Script, node: PyNode): string {
  let text = '';
  let at = node.from;
  for (const part of node.children.filter(({ name }) => name === 'FormatReplacement')) {
    text += `${script.text.slice(at, part.from)}{${script.text.slice(part.from + 1, part.to - 1).replaceAll(/[{}/]/g, '')}}`;
    at = part.to;
  }
  text += script.text.slice(at, node.to);
  return text.replace(/^[fFrRbB]{1,3}("""|'''|"|')(.*)\1$/s, '$2');
}

function join(left: readonly string[], right: readonly string[], separator: string): readonly string[] {
  return left.flatMap((a) =>
    right.map((b) => (separator === '/' && b.startsWith('/') ? b : `${separator === '/' ? a.replace(/\/$/, '') : a}${separator}${b}`)),
  );
}

function binary(script: Script, node: PyNode, depth: number): readonly string[] {
  const [left, operator, right] = node.children;
  const sign = operator === undefined ? '' : script.textOf(operator);
  if (sign === 'or') return [...textsOf(script, left, depth), ...textsOf(script, right, depth)];
  if (sign === '%') return textsOf(script, left, depth).map((text) => text.replaceAll(/%[-\d.]*[sdifr]/g, '{}'));
  if (sign !== '/' && sign !== '+') return [unknown(script, node)];
  return join(textsOf(script, left, depth), textsOf(script, right, depth), sign === '/' ? '/' : '');
}

/** Calls that give their first argument, or what stands before the dot, as a path. */
const WRAPPERS = new Set([
  'str',
  'Path',
  'pathlib.Path',
  'pathlib.PurePath',
  'os.fspath',
  'os.path.expanduser',
  'os.path.abspath',
  'os.path.realpath',
  'os.path.normpath',
  'open',
  'io.open',
]);
const SAME = new Set(['resolve', 'absolute', 'as_posix', 'expanduser', 'open', 'strip']);

function called(script: Script, node: PyNode, depth: number): readonly string[] {
  const call = script.callAt(node);
  if (call === undefined) return [];
  const { callee, method, receiver, args } = call;
  if (callee === 'os.path.join')
    return args
      .slice(1)
      .reduce((left, part) => join(left, textsOf(script, part, depth), '/').slice(0, MOST), textsOf(script, args[0], depth));
  if (WRAPPERS.has(callee))
    return args
      .slice(1)
      .reduce(
        (left, part) => (callee.endsWith('open') ? left : join(left, textsOf(script, part, depth), '/')),
        textsOf(script, args[0], depth),
      );
  if (callee === 'os.environ.get' || callee === 'os.getenv') return args[1] === undefined ? ['{environ}'] : textsOf(script, args[1], depth);
  if (/^tempfile\.|\.(?:NamedTemporaryFile|mkstemp|mkdtemp)$/.test(callee))
    return [call.keywords.has('dir') || args.length > 2 ? '{dir}/{tempfile}' : '/tmp/{tempfile}'];
  if (receiver !== null) return methodOf(script, call, depth);
  return returned(script, call, depth) ?? [`{${method || '?'}}`];
}

function methodOf(script: Script, call: Call, depth: number): readonly string[] {
  const { method, receiver, args } = call;
  const before = textsOf(script, receiver, depth);
  const first = args[0] === undefined ? [''] : textsOf(script, args[0], depth);
  if (SAME.has(method)) return before;
  if (method === 'format') return before.map((text) => text.replaceAll(/\{[^}]*\}/g, '{}'));
  if (method === 'joinpath') return join(before, first, '/');
  if (method === 'with_name')
    return join(
      before.map((text) => text.slice(0, Math.max(0, text.lastIndexOf('/')))),
      first,
      '/',
    );
  if (method === 'with_suffix')
    return join(
      before.map((text) => text.replace(/\.[^./{}]*$/, '')),
      first,
      '',
    );
  return returned(script, call, depth) ?? ['{?}'];
}

/** What a function of this file gives back, where it has one `return`. */
function returned(script: Script, call: Call, depth: number): readonly string[] | null {
  const fn = script.calledFunction(call);
  if (fn === null) return null;
  const returns = [...fn.node.children].flatMap((child) =>
    child.name === 'Body' ? child.children.filter(({ name }) => name === 'ReturnStatement') : [],
  );
  const value = returns[0]?.children[1];
  return returns.length === 1 && value !== undefined ? textsOf(script, value, depth + 2) : null;
}

function variable(script: Script, node: PyNode, depth: number): readonly string[] {
  const name = script.textOf(node);
  const fn = script.functionAround(node);
  const own = script.assignedTo(name).filter((one) => one.fn === fn);
  // What is assigned before this place counts, and in loops also what comes behind.
  const earlier = own.filter((one) => one.node.from < node.from);
  const chosen = earlier.length > 0 ? earlier : own;
  if (chosen.length > 0)
    return chosen.flatMap(({ value }) => (value === null || value === node ? [`{${name}}`] : textsOf(script, value, depth)));
  if (fn?.params.includes(name) === true) return argumentsFor(script, fn, name, depth);
  const outer = script.assignedTo(name).filter((one) => one.fn === null);
  return outer.length > 0 && outer.length <= 4
    ? outer.flatMap(({ value }) => (value === null ? [`{${name}}`] : textsOf(script, value, depth)))
    : [`{${name}}`];
}

/** What the calls of a function in this file pass for a parameter. */
export function argumentNodes(script: Script, fn: Fn, name: string): readonly PyNode[] {
  const index = fn.params.indexOf(name) - (fn.isMethod && /^(?:self|cls)$/.test(fn.params[0] ?? '') ? 1 : 0);
  return script.callsOf(fn).flatMap((call) => {
    const passed = call.keywords.get(name) ?? call.args[index];
    return passed === undefined ? [] : [passed];
  });
}

function argumentsFor(script: Script, fn: Fn, name: string, depth: number): readonly string[] {
  const passed = argumentNodes(script, fn, name).flatMap((node) => textsOf(script, node, depth + 1));
  const given = defaultOf(script, fn, name);
  if (passed.length > 0 && (given === null || passed.length >= script.callsOf(fn).length)) return passed;
  if (given !== null) return [...passed, ...textsOf(script, given, depth)];
  return passed.length > 0 ? passed : [`{${name}}`];
}

function defaultOf(script: Script, fn: Fn, name: string): PyNode | null {
  const params = fn.node.children.find((child) => child.name === 'ParamList')?.children ?? [];
  const at = params.findIndex((child) => child.name === 'VariableName' && script.textOf(child) === name);
  const sign = params.slice(at + 1, at + 3).findIndex((child) => child.name === 'AssignOp');
  return at < 0 || sign < 0 ? null : (params[at + 1 + sign + 1] ?? null);
}

function member(script: Script, node: PyNode, depth: number): readonly string[] {
  const text = script.textOf(node);
  if (text.startsWith('self.')) {
    const own = script.assignedTo(text).filter((one) => one.value !== null);
    if (own.length > 0 && own.length <= 4) return own.flatMap(({ value }) => textsOf(script, value, depth));
  }
  const [, property] = /^(?:args|opt|opts|options|cfg|config|flags|FLAGS|hparams|params)\.(\w+)$/.exec(text) ?? [];
  if (property === undefined) return [unknown(script, node)];
  const option = argumentOf(script, property);
  const given = option?.keywords.get('default');
  return given === undefined ? [`{${text}}`] : textsOf(script, given, depth);
}

/** The `add_argument` of an option, by the name that its value has. */
export function argumentOf(script: Script, property: string): Call | null {
  return (
    script.calls.find(({ method, args }) => {
      if (method !== 'add_argument' && method !== 'add_option') return false;
      return args.some((arg) => arg.name === 'String' && literal(script.textOf(arg)).replace(/^--?/, '').replaceAll('-', '_') === property);
    }) ?? null
  );
}
