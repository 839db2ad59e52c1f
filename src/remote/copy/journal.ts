import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openFolderBeneath, throughFolder } from '../../core/beneath.ts';
import { readRegularFile } from '../../core/read-regular.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { STORE_FOLDER } from '../../seal/names.ts';
import type { UploadMemory } from '../backends/backend.ts';

/**
 * Remembers across processes which uploads to one address are unfinished. The next run resumes or
 * removes them.
 */
export interface Journal extends UploadMemory {
  /** Notes an upload before it starts; `of` is the name of its checkpoint. */
  begin(key: string, of: string): void;
  end(key: string): void;
  /** The uploads that were started and not finished. */
  open(): readonly OpenUpload[];
}

/** An upload that was started and not finished: its key and its checkpoint. */
export interface OpenUpload {
  readonly key: string;
  readonly of: string;
}

/** Below the folder of the run. */
const JOURNAL = `${STORE_FOLDER}/shipping`;
const TEMPORARY = '.tmp';
const MAX_ENTRY_BYTES = 64 * 1024;

/**
 * Opens the journal: a small file for each upload in the run's `.holdfast/shipping`. Only its owner
 * can read it, because the address of a Google upload lets anyone write to it. On a volume that
 * cannot be written, or with a link in its place, there is no journal, and only the store's own
 * lists help.
 */
export function openJournal(run: string, url: string): Journal {
  const nameOf = (key: string): string => `${createHash('sha256').update(`${url}\n${key}`).digest('hex').slice(0, 40)}.json`;
  const read = (key: string): Entry | null => inJournal(run, null, (folder) => readEntry(join(folder, nameOf(key))));
  const write = (entry: Omit<Entry, 'url'>): void => {
    makeFolder(run);
    inJournal(run, null, (folder) => {
      const file = join(folder, nameOf(entry.key));
      const temporary = `${file}.${randomUUID()}${TEMPORARY}`;
      writeFileSync(temporary, `${JSON.stringify({ url, ...entry })}\n`, { mode: 0o600, flag: 'wx' });
      renameSync(temporary, file);
    });
  };
  const remember = (key: string, value: string | null): void => write({ key, of: read(key)?.of ?? '', value });
  return {
    begin(key, of) {
      const known = read(key);
      if (known?.of !== of) write({ key, of, value: known?.value ?? null });
    },
    end(key) {
      inJournal(run, null, (folder) => {
        // Also removes the temporary file that a killed process was writing.
        for (const one of readdirSync(folder)) if (one.startsWith(nameOf(key))) rmSync(join(folder, one), { force: true });
      });
    },
    open() {
      const entries = inJournal(run, [], (folder) => {
        const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
        return names.map((name) => readEntry(join(folder, name)));
      });
      return entries.flatMap((entry) => (entry?.url === url ? [entry] : []));
    },
    get: (key) => read(key)?.value ?? null,
    set: remember,
    delete: (key) => remember(key, null),
  };
}

/**
 * Works in the folder of the journal, which no link can replace meanwhile. Where that fails the
 * result is `otherwise`: the journal is only a help for the next run.
 */
function inJournal<T>(run: string, otherwise: T, work: (folder: string) => T): T {
  try {
    const folder = openFolderBeneath(run, JOURNAL);
    try {
      return work(folder.at);
    } finally {
      folder.close();
    }
  } catch {
    return otherwise;
  }
}

function makeFolder(run: string): void {
  try {
    throughFolder(run, JOURNAL, (real) => mkdirSync(real));
  } catch {
    // It is there already, or the journal does without.
  }
}

interface Entry extends OpenUpload {
  readonly url: string;
  readonly value: string | null;
}

function readEntry(file: string): Entry | null {
  try {
    const json = parseJson(readRegularFile(file, MAX_ENTRY_BYTES, 'refused').toString('utf8'));
    if (!json.ok || !isObject(json.value)) return null;
    const { url, key, of, value } = json.value;
    if (typeof url !== 'string' || typeof key !== 'string' || typeof of !== 'string') return null;
    return { url, key, of, value: typeof value === 'string' ? value : null };
  } catch {
    return null;
  }
}
