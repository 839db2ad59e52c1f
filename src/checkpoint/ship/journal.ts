import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, parseJson } from '../json.ts';
import { at } from '../store/layout.ts';
import type { UploadMemory } from './backend.ts';

/** Which uploads to one address were begun and not finished, across processes: the next run goes on with them or removes them. */
export interface Journal extends UploadMemory {
  begin(key: string): void;
  end(key: string): void;
  /** Keys of uploads that were begun and not ended. */
  open(): readonly string[];
}

/**
 * A small file for each upload, in the run's `.holdfast/shipping`, readable by its owner only: the address of a Google upload lets anybody write
 * to it. On a volume that cannot be written there is no journal; the store's own lists are then all there is.
 */
export function openJournal(run: string, url: string): Journal {
  const folder = at.store(run, 'shipping');
  const fileOf = (key: string): string => join(folder, `${createHash('sha256').update(`${url}\n${key}`).digest('hex').slice(0, 40)}.json`);
  const write = (key: string, value: string | null): void => {
    quietly(() => {
      if (!existsSync(folder)) mkdirSync(folder);
      const temporary = `${fileOf(key)}.${randomUUID()}.tmp`;
      writeFileSync(temporary, `${JSON.stringify({ url, key, value })}\n`, { mode: 0o600 });
      renameSync(temporary, fileOf(key));
    });
  };
  const remove = (key: string): void => quietly(() => rmSync(fileOf(key), { force: true }));
  return {
    begin(key) {
      if (readEntry(fileOf(key)) === null) write(key, null);
    },
    end: remove,
    open() {
      const entries = namesIn(folder).map((name) => readEntry(join(folder, name)));
      return entries.flatMap((entry) => (entry?.url === url ? [entry.key] : []));
    },
    get: (key) => readEntry(fileOf(key))?.value ?? null,
    set: write,
    delete: (key) => write(key, null),
  };
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
}

function readEntry(file: string): { readonly url: string; readonly key: string; readonly value: string | null } | null {
  try {
    const json = parseJson(readFileSync(file, 'utf8'));
    if (!json.ok || !isObject(json.value)) return null;
    const { url, key, value } = json.value;
    if (typeof url !== 'string' || typeof key !== 'string') return null;
    return { url, key, value: typeof value === 'string' ? value : null };
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
