import { readdirSync, statSync } from 'node:fs';
import { openFolderBeneath } from '../core/beneath.ts';
import { HoldfastError, systemCode } from '../core/errors.ts';
import { printable } from '../core/printable.ts';
import type { Recorded } from './events.ts';
import { type FileReading, FileReader } from './file-reader.ts';
import { LEDGER, type LedgerFile, ledgerFolder, parseLedgerFileName } from './ledger-files.ts';
import { mergeEvents } from './merge.ts';

/** The content of a ledger. */
export interface LedgerReading {
  /** In one order over all files; see {@link mergeEvents}. */
  readonly events: readonly Recorded[];
  /** The files it was read from, oldest attempt first. */
  readonly files: readonly FileReading[];
}

/**
 * The most bytes to read from a file, and from all together: the newest part. A ledger grows by one
 * or two megabytes a day.
 */
const MOST_FILE_BYTES = 32 * 1024 * 1024;
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_FILES = 10_000;

/** Reads the ledger of a run, at most this many bytes, the newest; empty when there is none. */
export function readLedger(run: string, mostBytes = MOST_BYTES): LedgerReading {
  return new LedgerReader(run).readMore(mostBytes);
}

/** How much of the end of a file {@link readEnds} reads: some thousand events. */
const END_BYTES = 256 * 1024;

/** Reads the end of each selected file, whatever their number and length. */
export function readEnds(run: string, isWanted: (file: LedgerFile) => boolean): readonly Recorded[] {
  const files = ledgerFiles(run).filter(isWanted);
  return mergeEvents(files.map((file) => new FileReader(run, file).readMore(END_BYTES).events));
}

/** How much of the beginning of a file {@link readBeginning} reads, and of how many files. */
const BEGINNING_BYTES = 256 * 1024;
const MOST_BEGINNINGS = 16;

/**
 * Finds the first match at the beginning of a file of an earlier attempt, the newest attempt first,
 * whatever the length of the files.
 */
export function readBeginning<Found>(run: string, before: number, find: (recorded: Recorded) => Found | null): Found | null {
  const files = ledgerFiles(run).filter(({ attempt }) => attempt < before);
  for (const file of files.slice(-MOST_BEGINNINGS).toReversed()) {
    for (const recorded of new FileReader(run, file).readFirst(BEGINNING_BYTES).events) {
      const found = find(recorded);
      if (found !== null) return found;
    }
  }
  return null;
}

/** Reads the ledger of a run, and later what was added to it. */
export class LedgerReader {
  readonly folder: string;
  readonly #run: string;
  readonly #readers = new Map<string, FileReader>();

  constructor(run: string) {
    assertFolder(run);
    this.folder = ledgerFolder(run);
    this.#run = run;
  }

  /** Reads what was added since the last call, on all nodes. */
  readMore(mostBytes = MOST_BYTES): LedgerReading {
    const files = ledgerFiles(this.#run);
    let left = mostBytes;
    const found: (readonly Recorded[])[] = [];
    // Reads the newest attempts first, because they matter most when not all can be read.
    for (const file of files.toReversed()) {
      const reader = this.#readers.get(file.name) ?? new FileReader(this.#run, file);
      this.#readers.set(file.name, reader);
      const { events, bytes } = reader.readMore(Math.min(left, MOST_FILE_BYTES));
      left = Math.max(0, left - bytes);
      found.push(events);
    }
    const readings = files.flatMap(({ name }) => this.#readers.get(name)?.reading ?? []);
    return { events: mergeEvents(found), files: readings };
  }
}

function ledgerFiles(run: string): readonly LedgerFile[] {
  let names: readonly string[];
  try {
    names = namesIn(run);
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return [];
    throw notReadable(ledgerFolder(run), thrown);
  }
  return names
    .flatMap((name) => parseLedgerFileName(name) ?? [])
    .sort((a, b) => a.attempt - b.attempt || (a.name < b.name ? -1 : 1))
    .slice(-MOST_FILES);
}

function namesIn(run: string): readonly string[] {
  const folder = openFolderBeneath(run, LEDGER);
  try {
    return readdirSync(folder.at);
  } finally {
    folder.close();
  }
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
    hint: 'Give the folder of a run: the folder that holds its checkpoints.',
  });
}

function notReadable(path: string, thrown: unknown): HoldfastError {
  return new HoldfastError('PATH_NOT_READABLE', {
    message: `${printable(path)} cannot be read: ${systemCode(thrown) ?? 'unknown'}`,
    cause: thrown,
  });
}
