import { readdirSync, statSync } from 'node:fs';
import { HoldfastError, systemCode } from '../core/errors.ts';
import { printable } from '../core/printable.ts';
import type { Recorded } from './events.ts';
import { type FileReading, FileReader } from './file-reader.ts';
import { type LedgerFile, ledgerFolder, parseLedgerFileName } from './layout.ts';
import { mergeEvents } from './merge.ts';

/** What a ledger says. */
export interface LedgerReading {
  /** In one order over all files; see {@link mergeEvents}. */
  readonly events: readonly Recorded[];
  /** The files it was read from, oldest attempt first. */
  readonly files: readonly FileReading[];
}

/** The newest part of a file, and of all together, that is read: a ledger grows by one or two megabytes a day. */
const MOST_FILE_BYTES = 32 * 1024 * 1024;
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_FILES = 10_000;

/** Reads the ledger of a run, at most so many bytes of it, the newest; empty when there is none. */
export function readLedger(run: string, mostBytes = MOST_BYTES): LedgerReading {
  return new LedgerReader(run).readMore(mostBytes);
}

/** The newest part of a file that a look at the ends reads: some thousand events. */
const END_BYTES = 256 * 1024;

/** What was written last in each of the files that are wanted, whatever their number and length. */
export function readEnds(run: string, isWanted: (file: LedgerFile) => boolean): readonly Recorded[] {
  const folder = ledgerFolder(run);
  const files = ledgerFiles(folder).filter(isWanted);
  return mergeEvents(files.map((file) => new FileReader(folder, file).readMore(END_BYTES).events));
}

/** The first part of a file that a look at the beginnings reads, and how many files. */
const BEGINNING_BYTES = 256 * 1024;
const MOST_BEGINNINGS = 16;

/** The first thing that is found at the beginning of a file of an attempt before this one, the newest first, whatever their length. */
export function readBeginning<Found>(run: string, before: number, find: (recorded: Recorded) => Found | null): Found | null {
  const folder = ledgerFolder(run);
  const files = ledgerFiles(folder).filter(({ attempt }) => attempt < before);
  for (const file of files.slice(-MOST_BEGINNINGS).toReversed()) {
    for (const recorded of new FileReader(folder, file).readFirst(BEGINNING_BYTES).events) {
      const found = find(recorded);
      if (found !== null) return found;
    }
  }
  return null;
}

/** Reads the ledger of a run, and later what was added to it. */
export class LedgerReader {
  readonly folder: string;
  readonly #readers = new Map<string, FileReader>();

  constructor(run: string) {
    assertFolder(run);
    this.folder = ledgerFolder(run);
  }

  /** What was added since the last call, on all nodes. */
  readMore(mostBytes = MOST_BYTES): LedgerReading {
    const files = ledgerFiles(this.folder);
    let left = mostBytes;
    const found: (readonly Recorded[])[] = [];
    // The newest attempts first: where not all can be read, they are what counts.
    for (const file of files.toReversed()) {
      const reader = this.#readers.get(file.name) ?? new FileReader(this.folder, file);
      this.#readers.set(file.name, reader);
      const { events, bytes } = reader.readMore(Math.min(left, MOST_FILE_BYTES));
      left = Math.max(0, left - bytes);
      found.push(events);
    }
    const readings = files.flatMap(({ name }) => this.#readers.get(name)?.reading ?? []);
    return { events: mergeEvents(found), files: readings };
  }
}

function ledgerFiles(folder: string): readonly LedgerFile[] {
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return [];
    throw notReadable(folder, thrown);
  }
  return names
    .flatMap((name) => parseLedgerFileName(name) ?? [])
    .sort((a, b) => a.attempt - b.attempt || (a.name < b.name ? -1 : 1))
    .slice(-MOST_FILES);
}

function assertFolder(run: string): void {
  let isFolder: boolean;
  try {
    isFolder = statSync(run).isDirectory();
  } catch (thrown) {
    if (systemCode(thrown) !== 'ENOENT') throw notReadable(run, thrown);
    throw new HoldfastError('PATH_NOT_FOUND', {
      message: `${printable(run)} does not exist`,
      hint: 'Give the folder of a run. Check the spelling, and whether the volume is mounted here.',
    });
  }
  if (isFolder) return;
  throw new HoldfastError('PATH_NOT_SUPPORTED', {
    message: `${printable(run)} is not a directory`,
    hint: 'Give the folder of a run: the one its checkpoints lie in.',
  });
}

function notReadable(path: string, thrown: unknown): HoldfastError {
  return new HoldfastError('PATH_NOT_READABLE', {
    message: `${printable(path)} cannot be read: ${systemCode(thrown) ?? 'unknown'}`,
    cause: thrown,
  });
}
