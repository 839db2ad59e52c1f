import { lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { HoldfastError, systemCode } from '../../core/errors.ts';
import type { WhileBusy } from '../../core/lifecycle.ts';
import { excerpt } from '../../core/printable.ts';
import { readRegularFile } from '../../core/read-regular.ts';
import { readStream } from '../../core/read-stream.ts';
import type { Skip } from '../../lint/source/finding.ts';
import type { Source } from '../../lint/source/source.ts';
import { MAX_FILE_BYTES } from '../../lint/manifest/size-limits.ts';

/** What lies at the paths that were given. */
export interface Gathered {
  readonly sources: readonly Source[];
  readonly skips: readonly Skip[];
}

/** What ends the wait for standard input, and the reading of files. */
export interface Stop {
  readonly signal: AbortSignal;
  readonly whileBusy: WhileBusy;
}

const LINTED = /\.(?:ya?ml|py|ipynb)$/i;
/** Folders that hold what others wrote. */
const FOREIGN = /^(?:\..+|node_modules|__pycache__|site-packages|dist-packages|venv|env|vendor)$/;
/** How many files of folders are read at most. */
const MOST_FILES = 200_000;

/**
 * Reads files, folders and standard input (`-`). What a folder holds beside YAML and Python is left
 * alone.
 */
export async function gather(paths: readonly string[], stdin: Readable, { signal, whileBusy }: Stop): Promise<Gathered> {
  const sources = new Map<string, Source>();
  const skips: Skip[] = [];
  for (const path of paths) {
    if (path === '-') add('-', await readStream(stdin, MAX_FILE_BYTES, signal));
    else await whileBusy(() => filesAt(path, skips).forEach(read));
  }
  return { sources: [...sources.values()], skips };

  function read(path: string): void {
    if (sources.has(path)) return;
    if (/\.ipynb$/i.test(path)) return skip(path, 'notebook', 'export it as a script to have it linted');
    try {
      add(path, readRegularFile(path, MAX_FILE_BYTES));
    } catch (thrown) {
      const code = systemCode(thrown);
      if (code === 'EFBIG') skip(path, 'too-large', 'split it, or lint its parts');
      else skip(path, 'not-readable', code === 'EFTYPE' ? 'it is not a regular file' : (code ?? 'unknown'));
    }
  }

  function add(path: string, bytes: Buffer | null): void {
    if (bytes === null) return skip(path, 'too-large', 'split it, or lint its parts');
    try {
      sources.set(path, { path, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) });
    } catch {
      skip(path, 'not-text', 'save it as UTF-8');
    }
  }

  function skip(path: string, kind: Skip['kind'], message: string): void {
    skips.push({ path, start: { line: 1, column: 1 }, kind, message });
  }
}

/**
 * The files at a path: itself, or those of a folder in the order of their names. No link is
 * followed out of a folder.
 */
function filesAt(path: string, skips: Skip[]): readonly string[] {
  let isFolder: boolean;
  try {
    isFolder = statSync(path).isDirectory();
  } catch (thrown) {
    const code = systemCode(thrown) === 'ENOENT' ? 'PATH_NOT_FOUND' : 'PATH_NOT_READABLE';
    throw new HoldfastError(code, {
      message: `${excerpt(path, 200)}: ${code === 'PATH_NOT_FOUND' ? 'there is nothing' : 'it cannot be read'}`,
      cause: thrown,
    });
  }
  return isFolder ? filesBelow(path, skips) : [path];
}

function filesBelow(path: string, skips: Skip[]): readonly string[] {
  const files: string[] = [];
  const open = [path];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const name of namesIn(folder, skips)) {
      const file = join(folder, name);
      const stats = lstatSync(file, { throwIfNoEntry: false });
      if (stats?.isDirectory() === true && !FOREIGN.test(name)) open.push(file);
      else if (stats?.isFile() === true && LINTED.test(name)) files.push(file);
    }
    if (files.length <= MOST_FILES) continue;
    const message = `${excerpt(path, 200)} holds more than ${MOST_FILES} files to lint`;
    throw new HoldfastError('PATH_NOT_SUPPORTED', { message, hint: 'Give the folders that matter.' });
  }
  return files.toSorted();
}

function namesIn(folder: string, skips: Skip[]): readonly string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch (thrown) {
    skips.push({
      path: folder,
      start: { line: 1, column: 1 },
      kind: 'not-readable',
      message: `it cannot be listed: ${systemCode(thrown) ?? 'unknown'}`,
    });
    return [];
  }
}
