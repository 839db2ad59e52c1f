import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readRegularFile } from '../../core/read-regular.ts';
import { isObject, parseJson } from '../json.ts';
import { at } from '../store/layout.ts';
import type { UploadMemory } from './backend.ts';

/** Which uploads to one address were begun and not finished, across processes: the next run goes on with them or removes them. */
export interface Journal extends UploadMemory {
  /** Notes an upload before it begins; `of` is the name of the checkpoint it belongs to. */
  begin(key: string, of: string): void;
  end(key: string): void;
  /** Uploads that were begun and not ended. */
  open(): readonly OpenUpload[];
}

export interface OpenUpload {
  readonly key: string;
  readonly of: string;
}

const TEMPORARY = '.tmp';
const MAX_ENTRY_BYTES = 64 * 1024;

/**
 * A small file for each upload, in the run's `.holdfast/shipping`, readable by its owner only: the address of a Google upload lets anybody write
 * to it. On a volume that cannot be written there is no journal; the store's own lists are then all there is.
 */
export function openJournal(run: string, url: string): Journal {
  const folder = at.store(run, 'shipping');
  const fileOf = (key: string): string => join(folder, `${createHash('sha256').update(`${url}\n${key}`).digest('hex').slice(0, 40)}.json`);
  const write = (entry: Omit<Entry, 'url'>): void => {
    quietly(() => {
      if (!existsSync(folder)) mkdirSync(folder);
      const temporary = `${fileOf(entry.key)}.${randomUUID()}${TEMPORARY}`;
      writeFileSync(temporary, `${JSON.stringify({ url, ...entry })}\n`, { mode: 0o600 });
      renameSync(temporary, fileOf(entry.key));
    });
  };
  const remember = (key: string, value: string | null): void => write({ key, of: readEntry(fileOf(key))?.of ?? '', value });
  const remove = (key: string): void => {
    const name = basename(fileOf(key));
    // What was being written when its process was killed goes as well.
    for (const one of namesIn(folder)) if (one.startsWith(name)) quietly(() => rmSync(join(folder, one), { force: true }));
  };
  return {
    begin(key, of) {
      const known = readEntry(fileOf(key));
      if (known?.of !== of) write({ key, of, value: known?.value ?? null });
    },
    end: remove,
    open() {
      const names = namesIn(folder).filter((name) => name.endsWith('.json'));
      const entries = names.map((name) => readEntry(join(folder, name)));
      return entries.flatMap((entry) => (entry?.url === url ? [entry] : []));
    },
    get: (key) => readEntry(fileOf(key))?.value ?? null,
    set: remember,
    delete: (key) => remember(key, null),
  };
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

interface Entry extends OpenUpload {
  readonly url: string;
  readonly value: string | null;
}

function readEntry(file: string): Entry | null {
  try {
    const json = parseJson(readRegularFile(file, MAX_ENTRY_BYTES).toString('utf8'));
    if (!json.ok || !isObject(json.value)) return null;
    const { url, key, of, value } = json.value;
    if (typeof url !== 'string' || typeof key !== 'string' || typeof of !== 'string') return null;
    return { url, key, of, value: typeof value === 'string' ? value : null };
  } catch {
    return null;
  }
}

function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // Only a help for the next run.
  }
}
