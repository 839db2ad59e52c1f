import { LineCounter, parseDocument } from 'yaml';
import { DUMP_LIMITS, type DumpProblem } from './dump-limits.ts';
import { isFields, listAt, textAt } from './fields.ts';
import { type KubeObject, objectOf } from './object.ts';
import { repeatedKey } from './repeated-key.ts';
import { wholeObjects } from './whole-objects.ts';

/** The content of a file of manifests or a dump. */
export interface ParsedDocuments {
  readonly objects: readonly KubeObject[];
  readonly problems: readonly DumpProblem[];
}

/**
 * Reads JSON or YAML with objects of mixed kinds: single ones, lists, several documents. Names
 * unreadable parts, with line and column if known, and reads the rest. Never throws on any text.
 */
export function parseDocuments(text: string, source: string): ParsedDocuments {
  const found: Found = { source, objects: [], problems: [] };
  const start = /\S/.exec(text)?.[0];
  if (start === undefined) problem(found, 'it is empty');
  else if (start === '{' || start === '[') readJson(text, found);
  else readYaml(text, found);
  return found;
}

interface Found {
  readonly source: string;
  readonly objects: KubeObject[];
  readonly problems: DumpProblem[];
}

function readJson(text: string, found: Found): void {
  try {
    return take(JSON.parse(text), found, null);
  } catch (thrown) {
    // Hand-written text in braces may still be YAML.
    const { texts, isCut } = wholeObjects(text);
    const before = found.objects.length;
    for (const piece of texts) takeJson(piece, found);
    const count = found.objects.length - before;
    if (isCut || count === 0) {
      const kept = count === 0 ? '' : `; ${count} whole ${count === 1 ? 'object was' : 'objects were'} read before that`;
      problem(found, `${isCut ? 'it ends in the middle of a document' : `it is no JSON (${reasonOf(thrown)})`}${kept}`);
    }
  }
}

/**
 * A piece between matching braces. If it is broken inside, it is skipped like the text beside it.
 */
function takeJson(piece: string, found: Found): void {
  try {
    take(JSON.parse(piece), found, null);
  } catch {
    problem(found, 'a piece of it is no JSON');
  }
}

function readYaml(text: string, found: Found): void {
  if (text.length > DUMP_LIMITS.yamlBytes) {
    return problem(found, `it has ${text.length} characters of YAML, and at most ${DUMP_LIMITS.yamlBytes} are read; JSON may be longer`);
  }
  // Parses each document separately, so that a broken one does not affect the others.
  let line = 0;
  for (const piece of text.split(/^(?=---(?:\s|$))/m)) {
    if (/^[^#\s]/m.test(piece.replace(/^---/, ''))) readYamlDocument(piece, found, line);
    line += piece.split('\n').length - 1;
  }
}

function readYamlDocument(piece: string, found: Found, linesBefore: number): void {
  const lineCounter = new LineCounter();
  try {
    const document = parseDocument(piece, { lineCounter, merge: true, uniqueKeys: false, prettyErrors: false, logLevel: 'silent' });
    const [error] = document.errors;
    const repeated = error === undefined ? repeatedKey(document) : null;
    if (repeated !== null) {
      const { line, col } = lineCounter.linePos(repeated);
      return problem(found, 'it is no YAML: Map keys must be unique', { line: linesBefore + line, column: col });
    }
    if (error !== undefined) {
      const { line, col } = lineCounter.linePos(error.pos[0]);
      const template = /\{\{.*\}\}/.test(piece) ? '; it looks like a template that was not rendered (helm template does)' : '';
      return problem(found, `it is no YAML: ${reasonOf(error)}${template}`, { line: linesBefore + line, column: col });
    }
    take(document.toJS({ maxAliasCount: DUMP_LIMITS.aliases }) as unknown, found, linesBefore + 1);
  } catch (thrown) {
    problem(found, `it cannot be read: ${reasonOf(thrown)}`, { line: linesBefore + 1, column: 1 });
  }
}

/** Collects an object, or the entries of a list. Kubernetes never writes a list of lists. */
function take(value: unknown, found: Found, line: number | null): void {
  if (value === null || value === undefined) return;
  const kind = textAt(value, 'kind');
  const entries = entriesOf(value, kind);
  if (entries === null) return takeOne(value, found, line);
  // The entries of a typed list do not repeat the list’s kind and version.
  const own = kind === null || kind === 'List' ? null : kind.slice(0, -'List'.length);
  const apiVersion = textAt(value, 'apiVersion');
  for (const entry of entries) {
    const isTold = own === null || !isFields(entry) || textAt(entry, 'kind') !== null;
    takeOne(isTold ? entry : { apiVersion, kind: own, ...entry }, found, line);
  }
}

function entriesOf(value: unknown, kind: string | null): readonly unknown[] | null {
  if (Array.isArray(value)) return value as readonly unknown[];
  const isList = isFields(value) && Array.isArray(value['items']) && (kind === null || kind.endsWith('List'));
  return isList ? listAt(value, 'items') : null;
}

function takeOne(value: unknown, found: Found, line: number | null): void {
  if (found.objects.length >= DUMP_LIMITS.objects)
    return problem(found, `more than ${DUMP_LIMITS.objects} objects; the others are left out`);
  const object = objectOf(value);
  if (object !== null) found.objects.push(object);
  else problem(found, 'it is no object of Kubernetes: kind or metadata.name is missing', line === null ? null : { line, column: 1 });
}

function problem(
  { source, problems }: Found,
  reason: string,
  place: { readonly line: number; readonly column: number } | null = null,
): void {
  if (problems.length >= DUMP_LIMITS.problems) return;
  problems.push({ source, line: place?.line ?? null, column: place?.column ?? null, reason });
}

function reasonOf(thrown: unknown): string {
  const isTooDeep = thrown instanceof RangeError || (thrown instanceof Error && /call stack/.test(thrown.message));
  const text = isTooDeep ? 'nested too deeply' : thrown instanceof Error ? thrown.message : String(thrown);
  return text.split('\n', 1)[0]?.slice(0, 200) ?? '';
}
