import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { RecordedOn } from '../scenario/notes.ts';
import type { Trace } from './reduce.ts';

const FOLDER = join(import.meta.dirname, 'recorded');

/** A trace with the versions that it was recorded on. On another version other facts may hold. */
export interface StoredTrace extends Trace {
  readonly recordedOn: RecordedOn;
  /** The day, as `2026-11-16`. */
  readonly recordedAt: string;
  /** The actions, in the form of `deedsOf`. */
  readonly deeds: string;
}

export function storeTrace(name: string, trace: StoredTrace): void {
  writeFileSync(join(FOLDER, `${name}.json`), `${JSON.stringify(trace, null, 2)}\n`);
}

/** Reads a trace; null when it was never recorded. */
export function storedTrace(name: string): StoredTrace | null {
  const path = join(FOLDER, `${name}.json`);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as StoredTrace) : null;
}

export function recordedNames(): string[] {
  return readdirSync(FOLDER)
    .map((name) => basename(name, '.json'))
    .sort();
}
