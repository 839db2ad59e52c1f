import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The files in the folder of a run, or of a copy, beside the checkpoints. */
export interface KeptFiles {
  /**
   * Paths in which placeholders replace what differs from run to run:
   * `.holdfast/attempts/N/attempt.json`.
   */
  readonly paths: readonly string[];
  /** The content of the JSON files, by those paths. */
  readonly documents: Readonly<Record<string, readonly unknown[]>>;
}

/** The placeholders for numbers, checkpoints, saves and nodes. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^\d+$/, 'N'],
  [/^\d+-.+\.jsonl$/, 'ATTEMPT-NODE.jsonl'],
  [/^(?:checkpoint-|epoch=|step-)[^/]*?((?:\.holdfast)?\.json)?$/, 'NAME$1'],
  [/^[0-9a-f]{8}-[0-9a-f-]{27}$/, 'ID'],
];

/** Reads the folder of a run, or of a copy, without files that are just being deleted. */
export function readKeptFiles(folder: string): KeptFiles {
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const own = all.filter((path) => /^\.holdfast\/(?!trash\/)|holdfast\.[a-z.]*json$/.test(path));
  const documents = own
    .filter((path) => generalPath(path).endsWith('.json') && statSync(join(folder, path)).isFile())
    .map((path) => ({ path: generalPath(path), document: JSON.parse(readFileSync(join(folder, path), 'utf8')) as unknown }));
  const byPath = Map.groupBy(documents, ({ path }) => path);
  return {
    paths: [...new Set(own.map(generalPath))].sort(),
    documents: Object.fromEntries([...byPath].map(([path, found]) => [path, found.map(({ document }) => document)])),
  };
}

function generalPath(path: string): string {
  const segments = path.split('/').map((name) => NAMES.reduce((text, [pattern, general]) => text.replace(pattern, general), name));
  return segments.join('/');
}

/** Merges readings from several moments. */
export function mergeKeptFiles(all: readonly KeptFiles[]): KeptFiles {
  const patterns = new Set(all.flatMap(({ documents }) => Object.keys(documents)));
  return {
    paths: [...new Set(all.flatMap(({ paths }) => paths))].sort(),
    documents: Object.fromEntries([...patterns].sort().map((path) => [path, all.flatMap(({ documents }) => documents[path] ?? [])])),
  };
}

/** The documents of a file or stream with one document per line. */
export function jsonLines(text: string): readonly unknown[] {
  const lines = text.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as unknown);
}
