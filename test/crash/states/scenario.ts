import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Recording, resolveLog } from '../model/events.ts';
import { readTree } from '../model/tree.ts';
import { type RecordingFs, recordingFs } from '../recording-fs.ts';

/** A checkpoint by the key `resume` gives it, or null for "nothing to resume from". */
export type Key = string | null;

/** Something the protocol does to a run, and what a crash in the middle may leave of it. */
export interface Scenario {
  readonly name: string;
  /** What was there before, durable to the last byte. */
  readonly before: (fs: RecordingFs, run: string) => Promise<void>;
  /** What is recorded; it calls `fs.promise` where a caller is told that something now holds. */
  readonly act: (fs: RecordingFs, run: string) => Promise<void>;
  /** The name of a checkpoint that is damaged on purpose. */
  readonly bad?: string;
  /** What `resume` may find, given the promises that were made. */
  readonly allowed: (promises: ReadonlySet<string>) => readonly Key[];
  /** What else must hold in a run's folder after a crash; gives the faults. */
  readonly alsoHolds?: (run: string, promises: ReadonlySet<string>) => readonly string[];
  /** Does the same again, as somebody would after a crash; gives what is wrong then. */
  readonly again?: (run: string) => Promise<readonly string[]>;
}

/** A folder in memory where there is one: states are made and thrown away by the thousand. */
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
