import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { LAYERS, REFUSED } from './layers.ts';

/** An import in the wrong direction, as a sentence that names both sides and the rule. */
export interface WrongImport {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** Static and dynamic imports and re-exports of relative paths. */
const IMPORT = /(?:\bfrom\s*|\bimport\s*\(?\s*|\bnew URL\(\s*)['"`](\.\.?\/[^'"`]+)['"`]/g;

/** Holds every source file below `src` against the layers. Tests are free: they may reach anywhere. */
export function checkLayers(root: string): WrongImport[] {
  const source = join(root, 'src');
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  );
  return files.sort().flatMap((file) => checkFile(source, file));
}

function checkFile(source: string, file: string): WrongImport[] {
  const folder = topFolder(file);
  if (layerOf(folder) < 0)
    return [{ file: `src/${file}`, line: 1, message: `src/${folder} is in no layer: give it a line in tools/layers.ts` }];
  const text = readFileSync(join(source, file), 'utf8');
  return [...text.matchAll(IMPORT)].flatMap((match) => {
    const target = relative(source, join(source, dirname(file), match[1] ?? ''));
    const message = judge(folder, target);
    return message === null ? [] : [{ file: `src/${file}`, line: text.slice(0, match.index).split('\n').length, message }];
  });
}

/** Why a file of `folder` may not import `target` (a path below `src`), or null. */
function judge(folder: string, target: string): string | null {
  // The version is read from the manifest of the package; nothing else outside is there once it is installed.
  if (target === join('..', 'package.json')) return null;
  if (target.startsWith('..')) return `imports ${target.replace(/^(\.\.[/\\])+/, '')}, which is outside of src and not published`;
  const other = topFolder(target);
  if (other === folder) return null;
  const [own, its] = [layerOf(folder), layerOf(other)];
  if (its < 0) return `imports from src/${other}, which is in no layer: give it a line in tools/layers.ts`;
  if (its < own) return `${folder} imports from ${other}, which stands above it (tools/layers.ts)`;
  if (its === own) return `${folder} imports from ${other}, its sibling: siblings do not know each other (tools/layers.ts)`;
  const refused = REFUSED.find(({ from, to }) => from === folder && to === other);
  return refused === undefined ? null : `${folder} imports from ${other}: ${refused.because}`;
}

function topFolder(path: string): string {
  return path.split(sep, 1)[0] ?? '';
}

function layerOf(folder: string): number {
  return LAYERS.findIndex((layer) => layer.includes(folder));
}

if (import.meta.main) {
  const wrong = checkLayers(process.argv[2] ?? join(import.meta.dirname, '..'));
  for (const { file, line, message } of wrong) console.error(`${file}:${line}: ${message}`);
  if (wrong.length > 0) process.exitCode = 1;
}
