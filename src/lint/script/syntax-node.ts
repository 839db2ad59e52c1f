import type { Span } from '../source/source.ts';

/** A node of the syntax tree; the names are those of the grammar of @lezer/python. */
export interface PyNode extends Span {
  readonly name: string;
  readonly children: readonly PyNode[];
  readonly parent: PyNode | null;
}

/** A function of the script, a method or a lambda. */
export interface Fn {
  readonly node: PyNode;
  readonly name: string;
  readonly params: readonly string[];
  readonly isMethod: boolean;
}

/** A call, with its callee as it would be written without import aliases: `torch.save`. */
export interface Call {
  readonly node: PyNode;
  readonly callee: string;
  /** The last part of the callee. */
  readonly method: string;
  /** What stands before the last dot; null for a plain name. */
  readonly receiver: PyNode | null;
  readonly args: readonly PyNode[];
  readonly keywords: ReadonlyMap<string, PyNode>;
  /** The call passes `*args` or `**kwargs` on, so that what is missing may be in there. */
  readonly isOpen: boolean;
  readonly fn: Fn | null;
}

/** `target = value`; of a tuple one for each name, without value where it cannot be taken apart. */
export interface Assignment {
  readonly target: string;
  readonly value: PyNode | null;
  readonly node: PyNode;
  readonly fn: Fn | null;
}

/** All nodes below and with this one, in the order of the text. */
export function* within(root: PyNode): Generator<PyNode> {
  const open = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    yield node;
    for (let i = node.children.length - 1; i >= 0; i--) open.push(node.children[i] as PyNode);
  }
}

/** The nodes around this one, from the inside out, up to its function. */
export function* around(node: PyNode): Generator<PyNode> {
  for (let at = node.parent; at !== null && !isFunction(at); at = at.parent) yield at;
}

/** A definition or a lambda. */
export function isFunction({ name }: PyNode): boolean {
  return name === 'FunctionDefinition' || name === 'LambdaExpression';
}

/** The loops around a node within its function, from the inside out. */
export function loopsAround(node: PyNode): readonly PyNode[] {
  const loops: PyNode[] = [];
  let inner = node;
  for (const at of around(node)) {
    // What stands in the head or behind `else` is not repeated.
    if ((at.name === 'ForStatement' || at.name === 'WhileStatement') && at.children.find(({ name }) => name === 'Body') === inner)
      loops.push(at);
    inner = at;
  }
  return loops;
}

/** The statement that holds a node: the child of a body. */
export function statementOf(node: PyNode): PyNode {
  let at = node;
  while (at.parent !== null && at.parent.name !== 'Body' && at.parent.name !== 'Script') at = at.parent;
  return at;
}

/** The tests of an `if` statement with the bodies they lead to; `else` has none. */
export function branches(node: PyNode): readonly { readonly test: PyNode | null; readonly body: PyNode }[] {
  const made: { test: PyNode | null; body: PyNode }[] = [];
  let test: PyNode | null = null;
  for (const child of node.children) {
    if (child.name === 'Body') made.push({ test, body: child });
    test = child.name === 'Body' || child.name === 'else' ? null : child;
  }
  return made;
}
