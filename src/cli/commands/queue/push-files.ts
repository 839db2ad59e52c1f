import { createHash } from 'node:crypto';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { HoldfastError } from '../../../core/errors.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import { parseKey } from '../../../domain/queue/names.ts';
import type { QueueClient } from '../../../queue/client/client.ts';
import { textLines } from '../../../queue/text-lines.ts';
import type { Output } from '../../output/output.ts';
import { csvObjects } from './csv.ts';
import { assertItemFiles, itemBytes } from './item-file.ts';

/** How files are read. */
export interface PushWishes {
  readonly key: string | null;
  readonly glob: string | null;
  readonly format: 'jsonl' | 'csv' | null;
  readonly priority: number;
}

/** What is pushed where. */
export interface PushJob {
  readonly client: QueueClient;
  readonly path: string;
  readonly files: readonly string[];
  readonly wishes: PushWishes;
  readonly output: Output;
  readonly signal: AbortSignal;
}

/** An item that was not pushed. */
export interface RefusedItem {
  readonly file: string;
  readonly line: number;
  readonly key: string | null;
  readonly reason: string;
}

/** What became of everything. */
export interface PushReport {
  readonly added: number;
  readonly present: number;
  readonly refusedCount: number;
  /** The first thousand. */
  readonly refused: readonly RefusedItem[];
}

interface ServerSummary extends Omit<PushReport, 'refused'> {
  readonly refused: readonly { readonly line: number; readonly key: string | null; readonly reason: string }[];
}

/** A record of a file: a value as JSON text, or why it is none. */
type Source = { readonly file: string; readonly line: number } & (
  | { readonly value: string; readonly key: string | null }
  | { readonly reason: string }
);

const LONGEST_LINE = 64 * 2 ** 20;
const MOST_NAMED = 1000;
/** Lines are sent together: a piece of the stream for each would take longer than the rest. */
const PIECE = 64 * 1024;

/**
 * Reads the files and sends their items in one stream; the server pushes as it reads, so that
 * nothing large is held on either side.
 */
export async function pushFiles(job: PushJob): Promise<PushReport> {
  const { client, path, files, wishes, output, signal } = job;
  assertItemFiles(files);
  // A file that is still read when the request has failed must not keep the process alive.
  const over = new AbortController();
  const reading = AbortSignal.any([signal, over.signal]);
  const refused: RefusedItem[] = [];
  let refusedHere = 0;
  const sent = new SentLines();
  const lines = async function* (): AsyncGenerator<string> {
    let piece = '';
    let done = 0;
    for await (const source of sources(job, reading)) {
      const { file, line } = source;
      const item = toItem(source, wishes);
      if ('reason' in item) {
        refusedHere += 1;
        if (refused.length < MOST_NAMED) refused.push({ file, line, key: null, reason: item.reason });
        continue;
      }
      sent.add(file, line);
      piece += `${JSON.stringify({ key: item.key, value: item.value, priority: wishes.priority })}\n`;
      done += 1;
      if (piece.length < PIECE) continue;
      yield piece;
      piece = '';
      output.progress.update({ phase: 'pushed', done, total: 0, unit: 'items', current: file });
    }
    yield piece;
  };
  const summary = await client.upload<ServerSummary>(path, lines(), signal).finally(() => over.abort());
  const named = summary.refused.map(({ line, key, reason }) => ({ ...sent.place(line), key, reason }));
  return {
    added: summary.added,
    present: summary.present,
    refusedCount: summary.refusedCount + refusedHere,
    refused: [...refused, ...named].slice(0, MOST_NAMED),
  };
}

function toItem(
  source: Source,
  { key: field }: PushWishes,
): { readonly key: string; readonly value: string } | { readonly reason: string } {
  if ('reason' in source) return source;
  const { value } = source;
  let parsedValue: unknown;
  try {
    parsedValue = JSON.parse(value);
  } catch {
    return { reason: 'the line is not JSON' };
  }
  if (source.key !== null) return { key: source.key, value };
  if (field === null) return { key: createHash('sha256').update(value).digest('hex').slice(0, 32), value };
  const found = typeof parsedValue === 'object' && parsedValue !== null ? (parsedValue as Record<string, unknown>)[field] : undefined;
  if (typeof found !== 'string' && typeof found !== 'number')
    return { reason: `the item has no text or number in its field "${printable(field)}"` };
  if (typeof found === 'number' && Number.isInteger(found) && !Number.isSafeInteger(found))
    return { reason: `the number in its field "${printable(field)}" has too many digits for a key: write it as a text` };
  const key = parseKey(String(found));
  return key.ok ? { key: key.value, value } : { reason: key.reason };
}

async function* sources({ files, wishes }: PushJob, signal: AbortSignal): AsyncGenerator<Source> {
  for (const file of files) yield* fileSources(file, wishes, signal);
  if (wishes.glob !== null) yield* globSources(wishes.glob);
}

async function* fileSources(file: string, wishes: PushWishes, signal: AbortSignal): AsyncGenerator<Source> {
  const format = wishes.format ?? (file.endsWith('.csv') ? 'csv' : 'jsonl');
  const bytes = itemBytes(file, signal);
  yield* format === 'csv' ? csvRecords(file, bytes) : jsonRecords(file, bytes);
}

async function* globSources(pattern: string): AsyncGenerator<Source> {
  const paths: string[] = [];
  for await (const entry of glob(pattern, { withFileTypes: true })) if (entry.isFile()) paths.push(join(entry.parentPath, entry.name));
  if (paths.length === 0) throw new HoldfastError('PATH_NOT_FOUND', { message: `no file matches --glob=${excerpt(pattern, 200)}` });
  for (const [i, path] of paths.sort().entries()) yield { file: pattern, line: i + 1, ...fileItem(path) };
}

function fileItem(path: string): { readonly value: string; readonly key: string } | { readonly reason: string } {
  const key = parseKey(path);
  return key.ok ? { key: path, value: JSON.stringify({ path }) } : { reason: key.reason };
}

async function* jsonRecords(file: string, stream: AsyncIterable<Buffer>): AsyncGenerator<Source> {
  for await (const { number: line, text } of textLines(stream, LONGEST_LINE)) {
    const value = text?.trim();
    if (value === undefined) yield { file, line, reason: 'the line is longer than 64 MiB' };
    // A mark of the byte order may stand in front of the first line.
    else if (value !== '' && value !== '\ufeff') yield { file, line, value: value.replace(/^\ufeff/, ''), key: null };
  }
}

async function* csvRecords(file: string, stream: AsyncIterable<Buffer>): AsyncGenerator<Source> {
  for await (const { line, fields, reason } of csvObjects(stream, LONGEST_LINE)) {
    if (reason === null) yield { file, line, value: JSON.stringify(fields), key: null };
    else yield { file, line, reason };
  }
}

/** Which line of which file was sent as which: what was sent in one run is one entry. */
class SentLines {
  readonly #runs: { readonly first: number; readonly file: string; readonly line: number }[] = [];
  #count = 0;

  add(file: string, line: number): void {
    this.#count += 1;
    const last = this.#runs.at(-1);
    if (last !== undefined && last.file === file && line - last.line === this.#count - last.first) return;
    this.#runs.push({ first: this.#count, file, line });
  }

  place(sent: number): { readonly file: string; readonly line: number } {
    const run = this.#runs.findLast(({ first }) => first <= sent);
    return { file: run?.file ?? '', line: (run?.line ?? 0) + sent - (run?.first ?? 0) };
  }
}
