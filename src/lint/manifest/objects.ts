import { excerpt } from '../../core/printable.ts';
import type { SkipKind } from '../source/finding.ts';
import type { Source } from '../source/source.ts';
import { fragmentOf } from './fragment.ts';
import { NO_KIND } from './size-limits.ts';
import { get, items, textAt, type YamlNode } from './yaml-node.ts';
import { readDocument } from './read-manifest.ts';
import { peekKind, splitDocuments, templateTag } from './split.ts';
import type { KubeObject } from './workload.ts';

/** The kinds that some rule is about. Documents of other kinds are counted and not read further. */
const KINDS: ReadonlySet<string> = new Set([
  'Pod',
  'Job',
  'CronJob',
  'JobSet',
  'PyTorchJob',
  'TFJob',
  'Deployment',
  'StatefulSet',
  'ReplicaSet',
  'Service',
  'PriorityClass',
  'PodDisruptionBudget',
  'PersistentVolumeClaim',
  'KubeletConfiguration',
]);

interface ReadObjects {
  readonly objects: readonly KubeObject[];
  readonly skips: readonly { readonly kind: SkipKind; readonly at: number; readonly message: string }[];
  readonly otherKinds: ReadonlyMap<string, number>;
}

/** The objects of a YAML stream. What is broken is named, and the rest is read. */
export function readObjects(source: Source): ReadObjects {
  const objects: KubeObject[] = [];
  const skips: { kind: SkipKind; at: number; message: string }[] = [];
  const otherKinds = new Map<string, number>();
  const other = (kind: string): void => void otherKinds.set(kind, (otherKinds.get(kind) ?? 0) + 1);
  for (const piece of splitDocuments(source.text)) {
    const peeked = peekKind(piece.text);
    if (peeked !== null && !KINDS.has(peeked) && !peeked.endsWith('List')) {
      other(peeked);
      continue;
    }
    const tag = templateTag(piece.text);
    if (tag >= 0) {
      skips.push({
        kind: 'template',
        at: piece.from + tag,
        message: 'this is a template: lint what it is rendered to, `helm template … | holdfast lint -`',
      });
      continue;
    }
    const read = readDocument(piece);
    if ('kind' in read) skips.push(read);
    else for (const root of expand(read.root)) place({ root, shared: read.shared }, source, objects, other);
  }
  return { objects, skips, otherKinds };
}

/** The items of a List, however deep they are nested. */
function expand(root: YamlNode, depth = 3): readonly YamlNode[] {
  const kind = textAt(root, 'kind');
  return depth > 0 && kind?.endsWith('List') === true ? items(get(root, 'items')).flatMap((item) => expand(item, depth - 1)) : [root];
}

function place(
  { root, shared }: Pick<KubeObject, 'root' | 'shared'>,
  { path, text }: Source,
  objects: KubeObject[],
  other: (kind: string) => void,
): void {
  const kind = textAt(root, 'kind');
  if (kind === null) {
    const fragment = fragmentOf(root);
    if (fragment === null) return other(NO_KIND);
    objects.push({ path, source: text, ...fragment, name: null, namespace: null, shared, isFragment: true });
    return;
  }
  if (!KINDS.has(kind)) return other(excerpt(kind, 40));
  objects.push({
    path,
    source: text,
    kind,
    name: nameOf(root),
    namespace: textAt(root, 'metadata', 'namespace'),
    root,
    shared,
    isFragment: false,
  });
}

function nameOf(root: YamlNode): string | null {
  const name = textAt(root, 'metadata', 'name') ?? textAt(root, 'metadata', 'generateName');
  return name === null ? null : excerpt(name, 80);
}
