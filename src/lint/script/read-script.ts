import { parser } from '@lezer/python';
import type { Source } from '../source/source.ts';
import type { PyNode } from './syntax-node.ts';
import { Script } from './script.ts';

/** A script, or the line that could not be understood. */
export type ReadScript =
  | { readonly script: Script }
  | { readonly kind: 'python-2' | 'not-python'; readonly at: number; readonly message: string };

/** Words that must appear in a file that any rule is about; others are not parsed. */
const RELEVANT =
  /\b(?:torch|transformers|lightning|pytorch_lightning|accelerate|deepspeed|tensorflow|keras|jax|flax|orbax|signal|pickle|checkpoint|holdfast|horovod|composer)\b/;

/** Whether a file may have anything to do with training. */
export function isRelevant(text: string): boolean {
  return RELEVANT.test(text);
}

/** Parses a script. It is never executed, and nothing that it imports is looked for. */
export function readScript(source: Source): ReadScript {
  const { text } = source;
  const { root, broken, print } = convert(parser.parse(withoutGaps(text)).cursor(), text.length);
  if (print >= 0 || (broken >= 0 && PYTHON_2.test(text)))
    return { kind: 'python-2', at: print >= 0 ? print : broken, message: 'only Python 3 is read' };
  if (broken >= 0) return { kind: 'not-python', at: broken, message: 'correct the line, and lint the file again' };
  return { script: new Script(source, root) };
}

const PYTHON_2 = /^[ \t]*(?:print[ \t]+["'\w]|except[ \t]+[\w.]+[ \t]*,[ \t]*\w+[ \t]*:|exec[ \t]+["'\w]|raise[ \t]+\w+[ \t]*,)/m;

type TreeCursor = ReturnType<ReturnType<typeof parser.parse>['cursor']>;

/**
 * The tree as plain nodes, and where the first error and the first print statement stand, or -1.
 */
function convert(cursor: TreeCursor, length: number): { readonly root: PyNode; readonly broken: number; readonly print: number } {
  const root: Mutable = { name: 'Script', from: 0, to: length, children: [], parent: null };
  let parent: Mutable | null = root;
  let [broken, print] = [-1, -1];
  for (let isMore = cursor.firstChild(); isMore && parent !== null; ) {
    const node: Mutable = { name: cursor.name, from: cursor.from, to: cursor.to, children: [], parent };
    parent.children.push(node);
    if (cursor.type.isError && broken < 0) broken = node.from;
    if (node.name === 'PrintStatement' && print < 0) print = node.from;
    if (cursor.firstChild()) parent = node;
    else {
      while (parent !== null && !cursor.nextSibling()) {
        isMore = cursor.parent();
        parent = parent.parent;
      }
    }
  }
  return { root, broken, print };
}

interface Mutable extends PyNode {
  readonly children: Mutable[];
  readonly parent: Mutable | null;
}

/**
 * Python that the grammar does not know, written as something of the same length that it does: a
 * bare `yield`, `1.` without digits behind the dot, form feeds, class patterns without arguments.
 * Texts are read from the source itself.
 */
function withoutGaps(text: string): string {
  return text
    .replaceAll('\f', ' ')
    .replaceAll(/\byield(?=[ \t]*(?:#|\r?\n|$|\)))/g, 'None ')
    .replaceAll(/(?<=\d)\.(?![\w.])/g, '0')
    .replaceAll(/(?<=\bas )\(([\w, ]+)\)(?=:)/g, ' $1 ')
    .replaceAll(/(?<=^[ \t]*case [\w. |]*)\(\)(?=[^\n]*:)/gm, '  ');
}
