import { blocksOf, isMarkdown, withoutMargin } from './markdown.ts';
import type { Source } from './source.ts';

/** A text of one language: a source, or a block of code in Markdown. */
export interface Part {
  readonly source: Source;
  readonly language: 'yaml' | 'python' | 'shell';
}

/** What of a source is linted, and as what. */
export function partsOf(source: Source): readonly Part[] {
  if (!isMarkdown(source)) return [{ source, language: isPython(source) ? 'python' : 'yaml' }];
  return blocksOf(source).flatMap((block): Part[] => {
    if (block.language === 'yaml' || block.language === 'shell') return [{ source: block, language: block.language }];
    const python = { path: block.path, text: withoutMargin(block.text) };
    if (block.language === 'python' || isPython(python)) return [{ source: python, language: 'python' }];
    return ENTRY.test(block.text) ? [{ source: block, language: 'yaml' }] : [];
  });
}

/** A line of a map. */
const ENTRY = /^[ \t]*(?:- )?["']?[\w./-]+["']?:(?: |$)/m;
const OF_PYTHON = /^(?:#!.*\bpython|(?:import|from)[ \t]+[\w.]+|(?:async[ \t]+)?def[ \t]+\w+\(|class[ \t]+\w+[(:]|if[ \t]+__name__)/m;
/** A manifest may hold a script, in a block of text. */
const OF_MANIFEST = /^(?:apiVersion|kind|metadata|spec|items):/m;

/** Whether a text is linted as Python: by its name, else by what begins its lines. */
function isPython({ path, text }: Source): boolean {
  return /\.pyw?$/.test(path) || (!/\.ya?ml$/i.test(path) && OF_PYTHON.test(text) && !OF_MANIFEST.test(text));
}
