import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Recording, resolveLog } from '../model/events.ts';
import { readTree } from '../model/tree.ts';
import { type RecordingFs, recordingFs } from '../recording-fs.ts';

/** A checkpoint by the key `resume` gives it, or null for "nothing to resume from". */
export type Key = string | null;

/** An operation of the protocol on a run, and the allowed results of a crash in the middle. */
export interface Scenario {
  readonly name: string;
  /** The state before the operation, durable to the last byte. */
  readonly before: (fs: RecordingFs, run: string) => Promise<void>;
  /** The recorded operation. It calls `fs.promise` where a caller gets an answer. */
  readonly act: (fs: RecordingFs, run: string) => Promise<void>;
  /** The name of a checkpoint that is damaged on purpose. */
  readonly bad?: string;
  /** The allowed results of `resume`, given the promises made so far. */
  readonly allowed: (promises: ReadonlySet<string>) => readonly Key[];
  /** What else must hold in a run's folder after a crash; returns the faults. */
  readonly alsoHolds?: (run: string, promises: ReadonlySet<string>) => readonly string[];
  /** Repeats the operation after a crash, as a user would; returns the faults. */
  readonly again?: (run: string) => Promise<readonly string[]>;
}

/** A folder in memory if there is one: the tests make and delete states by the thousand. */
export function fastFolder(): { readonly path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'holdfast-crash-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export async function record({ before, act }: Pick<Scenario, 'before' | 'act'>): Promise<Recording> {
  using folder = fastFolder();
  const fs = recordingFs(folder.path);
  await before(fs, folder.path);
  fs.log.length = 0;
  const tree = readTree(folder.path);
  await act(fs, folder.path);
  return resolveLog(tree, fs.log);
}
