import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { findCycle } from './find-cycle.ts';
import { LAYERS, REFUSED, ROOMS } from './layers.ts';

/** An import in the wrong direction, as a sentence that names both sides and the rule. */
export interface WrongImport {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** One import of a source file by another one; both are paths below `src`. */
interface Edge {
  readonly from: string;
  readonly to: string;
  readonly line: number;
}

/** Static and dynamic imports and re-exports of relative paths, of types too. */
const IMPORT = /(?:\bfrom\s*|\bimport\s*\(?\s*|\bnew URL\(\s*)['"`](\.\.?\/[^'"`]+)['"`]/g;

/**
 * Checks every source file below `src` against the layers, at both levels, and refuses cycles of
 * files, type imports included. Tests may import anything.
 */
export function checkLayers(root: string): WrongImport[] {
  const source = join(root, 'src');
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .sort();
  const edges = files.flatMap((file) => importsOf(source, file));
  return [
    ...files.flatMap((file) => placeless(file)),
    ...edges.flatMap((edge) => {
      const message = judge(edge);
      return message === null ? [] : [wrong(edge, message)];
    }),
    ...cycles(edges),
  ];
}

function importsOf(source: string, file: string): Edge[] {
  const text = readFileSync(join(source, file), 'utf8');
  return [...text.matchAll(IMPORT)].map((match) => ({
    from: file,
    to: relative(source, join(source, dirname(file), match[1] ?? '')),
    line: text.slice(0, match.index).split('\n').length,
  }));
}

function placeless(file: string): WrongImport[] {
  const [folder, room] = placeOf(file);
  const lines = ROOMS[folder] ?? [['.']];
  const message =
    layerOf(LAYERS, folder) < 0
      ? `src/${folder} is in no layer: give it a line in tools/layers.ts`
      : layerOf(lines, room) < 0
        ? `src/${folder}/${room} is in no layer of src/${folder}: give it a line in tools/layers.ts`
        : null;
  return message === null ? [] : [wrong({ from: file, to: file, line: 1 }, message)];
}

/** Why a file may not import the other one, or null. */
function judge({ from, to }: Edge): string | null {
  // The version comes from the package's manifest, the only outside file that an installation has.
  if (to === join('..', 'package.json')) return null;
  if (to.startsWith('..')) return `imports ${to.replace(/^(\.\.[/\\])+/, '')}, which is outside of src and not published`;
  const [folder, room] = placeOf(from);
  const [itsFolder, itsRoom] = placeOf(to);
  if (folder === itsFolder) return room === itsRoom ? null : judgeOrder(ROOMS[folder] ?? [], `${folder}/${room}`, `${folder}/${itsRoom}`);
  const refused = REFUSED.find((rule) => rule.from === folder && rule.to === itsFolder);
  if (refused !== undefined) return `${folder} imports from ${itsFolder}: ${refused.because}`;
  return judgeOrder(LAYERS, folder, itsFolder);
}

function judgeOrder(lines: readonly (readonly string[])[], from: string, to: string): string | null {
  const [own, its] = [from, to].map((path) => layerOf(lines, path.split('/').at(-1) ?? '')) as [number, number];
  // A folder without a line is reported in its own place.
  if (own < 0) return null;
  if (its < 0) return `imports from src/${to}, which is in no layer: give it a line in tools/layers.ts`;
  if (its < own) return `${from} imports from ${to}, which stands above it (tools/layers.ts)`;
  if (its === own) return `${from} imports from ${to}, its sibling: siblings do not know each other (tools/layers.ts)`;
  return null;
}

function cycles(edges: readonly Edge[]): WrongImport[] {
  const cycle = findCycle(edges);
  const [first, second = first] = cycle;
  if (first === undefined) return [];
  const edge = edges.find(({ from, to }) => from === first && to === second);
  return edge === undefined ? [] : [wrong(edge, `is part of a cycle: ${[...cycle, first].join(' -> ')}`)];
}

function wrong({ from, line }: Edge, message: string): WrongImport {
  return { file: `src/${from}`, line, message };
}

/** The folder of `src` that a file lies in, and the folder inside it; `.` for none. */
function placeOf(path: string): readonly [folder: string, room: string] {
  const [folder = '', room = '', ...rest] = path.split(sep);
  return [folder, rest.length === 0 ? '.' : room];
}

function layerOf(lines: readonly (readonly string[])[], folder: string): number {
  return lines.findIndex((line) => line.includes(folder));
}

if (import.meta.main) {
  const found = checkLayers(process.argv[2] ?? join(import.meta.dirname, '..'));
  for (const { file, line, message } of found) console.error(`${file}:${line}: ${message}`);
  if (found.length > 0) process.exitCode = 1;
}
