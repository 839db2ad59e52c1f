import type { Source } from '../source/source.ts';
import { type Assignment, type Call, type Fn, isFunction, type PyNode, within } from './syntax-node.ts';

/** A Python file with the facts that rules ask for, each found when it is asked for. */
export class Script implements Source {
  readonly path: string;
  readonly text: string;
  /** The name under which it is run: its path, or in a text the name that its first comment has. */
  readonly file: string;
  readonly root: PyNode;
  readonly functions: readonly Fn[];
  readonly calls: readonly Call[];
  readonly assignments: readonly Assignment[];
  /** Local name → what it stands for: `t` → `torch`, `save` → `torch.save`. */
  readonly imports: ReadonlyMap<string, string>;
  readonly #fnOf = new Map<PyNode, Fn>();
  readonly #memory = new Map<string, unknown>();

  constructor({ path, text }: Source, root: PyNode) {
    this.path = path;
    this.text = text;
    this.file = path.endsWith('.py') ? path : (/^\s*#+[ \t]*`?([\w./-]+\.py)\b/.exec(text)?.[1] ?? path);
    this.root = root;
    const all = [...within(root)];
    this.imports = importsOf(all, this);
    this.functions = all.filter(isFunction).map((node) => this.#function(node));
    for (const fn of this.functions) this.#fnOf.set(fn.node, fn);
    this.calls = all.filter(({ name }) => name === 'CallExpression').map((node) => this.#call(node));
    this.assignments = all.flatMap((node) => this.#assignments(node));
  }

  /** The text without lines that are comments: for questions about names that appear anywhere. */
  get code(): string {
    return this.once('code', () => this.text.replaceAll(/^[ \t]*#[^\n]*$/gm, ''));
  }

  /** What the source has at a node. */
  textOf(node: PyNode): string {
    return this.text.slice(node.from, node.to);
  }

  /** The call that a node is. */
  callAt(node: PyNode | null): Call | undefined {
    const calls = this.once('calls-by-node', () => new Map(this.calls.map((call) => [call.node, call])));
    return node === null ? undefined : calls.get(node);
  }

  /** The function around a node. */
  functionAround(node: PyNode): Fn | null {
    for (let at = node.parent; at !== null; at = at.parent) {
      const fn = this.#fnOf.get(at);
      if (fn !== undefined) return fn;
    }
    return null;
  }

  /** The calls within a node. */
  callsIn(node: PyNode): readonly Call[] {
    // The calls stand in the order of the text.
    let [low, high] = [0, this.calls.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.calls[middle] as Call).node.from < node.from) low = middle + 1;
      else high = middle;
    }
    const inside: Call[] = [];
    for (let call = this.calls[low]; call !== undefined && call.node.from < node.to; call = this.calls[++low])
      if (call.node.to <= node.to) inside.push(call);
    return inside;
  }

  /** The assignments to a name, or to something such as `self.stop`. */
  assignedTo(target: string): readonly Assignment[] {
    return this.once('assignments-by-target', () => Map.groupBy(this.assignments, (one) => one.target)).get(target) ?? [];
  }

  /** The functions and methods of a name. */
  functionsNamed(name: string): readonly Fn[] {
    return this.once('functions-by-name', () => Map.groupBy(this.functions, (one) => one.name)).get(name) ?? [];
  }

  /**
   * The function of this file that a call means, by its name; methods by the name behind the dot.
   */
  calledFunction({ callee, method, receiver }: Call): Fn | null {
    const named = this.functionsNamed(method);
    const [only] = named;
    if (only === undefined || named.length > 1) return null;
    if (receiver === null) return callee === method && !only.isMethod ? only : null;
    return only.isMethod ? only : null;
  }

  /** The calls of a function of this file. */
  callsOf(fn: Fn): readonly Call[] {
    const calls = this.once('calls-by-method', () => Map.groupBy(this.calls, (call) => call.method));
    return (calls.get(fn.name) ?? []).filter((call) => this.calledFunction(call) === fn);
  }

  /** A dotted name without import aliases; an empty text for anything else. */
  dotted(node: PyNode): string {
    if (node.name === 'VariableName') {
      const name = this.textOf(node);
      return this.imports.get(name) ?? name;
    }
    if (node.name !== 'MemberExpression') return '';
    const [object] = node.children;
    const property = node.children.at(-1);
    if (object === undefined || property?.name !== 'PropertyName') return '';
    const before = object.name === 'VariableName' || object.name === 'MemberExpression' ? this.#shallow(object) : '';
    return `${before === '' ? '?' : before}.${this.textOf(property)}`;
  }

  #shallow(node: PyNode): string {
    const text = this.textOf(node);
    if (!/^[\w.]{1,200}$/.test(text)) return '';
    const [head = '', ...rest] = text.split('.');
    return [this.imports.get(head) ?? head, ...rest].join('.');
  }

  /** Computes a fact once. */
  once<T>(name: string, make: () => T): T {
    if (!this.#memory.has(name)) this.#memory.set(name, make());
    return this.#memory.get(name) as T;
  }

  /** Computes a fact about a function once. */
  onceFor<T>(fn: Fn, name: string, make: () => T): T {
    const known = this.once(`${name} of functions`, () => new Map<Fn, T>());
    const fact = known.get(fn) ?? make();
    known.set(fn, fact);
    return fact;
  }

  #function(node: PyNode): Fn {
    const name = node.name === 'FunctionDefinition' ? node.children.find((child) => child.name === 'VariableName') : undefined;
    const isMethod = node.parent?.parent?.name === 'ClassDefinition' || node.parent?.parent?.parent?.name === 'ClassDefinition';
    return { node, name: name === undefined ? '' : this.textOf(name), params: this.#params(node), isMethod };
  }

  #params(node: PyNode): readonly string[] {
    const params = node.children.find(({ name }) => name === 'ParamList')?.children ?? [];
    const isName = (child: PyNode, index: number): boolean => child.name === 'VariableName' && params[index - 1]?.name !== 'AssignOp';
    return params.filter(isName).map((child) => this.textOf(child));
  }

  #call(node: PyNode): Call {
    const [callee] = node.children;
    const dotted = callee === undefined ? '' : this.dotted(callee);
    const receiver = callee?.name === 'MemberExpression' ? (callee.children[0] ?? null) : null;
    const method = dotted.slice(dotted.lastIndexOf('.') + 1);
    return { node, callee: dotted, method, receiver, ...this.#arguments(node), fn: this.functionAround(node) };
  }

  #arguments(node: PyNode): Pick<Call, 'args' | 'keywords' | 'isOpen'> {
    const list = node.children.find(({ name }) => name === 'ArgList')?.children ?? [];
    const [args, keywords]: [PyNode[], Map<string, PyNode>] = [[], new Map()];
    let isOpen = false;
    for (let i = 1; i < list.length - 1; i++) {
      const [child, after, value] = [list[i] as PyNode, list[i + 1], list[i + 2]];
      if (child.name === '*' || child.name === '**') {
        isOpen = true;
        i++;
      } else if (after?.name === 'AssignOp' && value !== undefined) {
        keywords.set(this.textOf(child), value);
        i += 2;
      } else if (child.name !== ',' && child.name !== 'Comment') args.push(child);
    }
    return { args, keywords, isOpen };
  }

  #assignments(node: PyNode): Assignment[] {
    if (node.name === 'NamedExpression' || node.name === 'WithStatement') return this.#bindings(node);
    if (node.name !== 'AssignStatement') return [];
    const fn = this.functionAround(node);
    const op = node.children.findIndex(({ name }) => name === 'AssignOp');
    const last = node.children.findLastIndex(({ name }) => name === 'AssignOp');
    const targets = node.children.slice(0, op).filter(({ name }) => name !== ',' && name !== 'TypeDef');
    const values = node.children.slice(last + 1).filter(({ name }) => name !== ',');
    // A chain: a = b = value.
    const chained = node.children.slice(op + 1, last).filter(({ name }) => name === 'VariableName' || name === 'MemberExpression');
    const made = targets.map((target, index): Assignment => {
      const value = targets.length === 1 && values.length === 1 ? values[0] : targets.length === values.length ? values[index] : undefined;
      return { target: this.textOf(target), value: value ?? null, node, fn };
    });
    return [...made, ...chained.map((target) => ({ target: this.textOf(target), value: values[0] ?? null, node, fn }))];
  }

  /** `with open(p) as f`, `f := open(p)`. */
  #bindings(node: PyNode): Assignment[] {
    const fn = this.functionAround(node);
    return node.children.flatMap((child, index): Assignment[] => {
      if (child.name !== 'as' && child.name !== 'AssignOp') return [];
      const [before, after] = [node.children[index - 1], node.children[index + 1]];
      if (before === undefined || after === undefined) return [];
      const [target, value] = child.name === 'as' ? [after, before] : [before, after];
      return [{ target: this.textOf(target), value, node, fn }];
    });
  }
}

function importsOf(all: readonly PyNode[], script: { textOf(node: PyNode): string }): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const node of all) {
    if (node.name !== 'ImportStatement') continue;
    const text = script
      .textOf(node)
      .replaceAll(/#[^\n]*/g, ' ')
      .replaceAll(/[()\\]/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim();
    const { module = '', list = '' } = /^(?:from (?<module>[\w.]+) )?import (?<list>.+)$/.exec(text)?.groups ?? {};
    for (const part of list.split(',')) addImport(names, module, part.trim());
  }
  return names;
}

/** `torch as t` binds t; `torch.nn` alone binds only its head, which is its own name. */
function addImport(names: Map<string, string>, module: string, part: string): void {
  const [, name = '', alias] = /^([\w.]+)(?: as (\w+))?$/.exec(part) ?? [];
  if (name === '') return;
  if (module !== '') names.set(alias ?? name, `${module}.${name}`);
  else if (alias !== undefined) names.set(alias, name);
}
