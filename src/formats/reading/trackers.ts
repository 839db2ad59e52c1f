import { excerpt, printable } from '../../core/printable.ts';
import type { Findings } from './findings.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { SourceError } from '../../bytes/source/source-error.ts';
import { stepOfName } from './steps.ts';
import type { Unit } from './unit.ts';

/** A small file by which a framework remembers the newest checkpoint of a run. */
export interface Tracker {
  readonly directory: Directory;
  readonly file: string;
  /** What it says, null when it says nothing usable. */
  readonly target: string | null;
  /** True when what it names is there. */
  readonly isThere: boolean;
  readonly step: number | null;
}

interface TrackerKind {
  readonly file: string;
  /**
   * The name it points at (a folder or a file prefix below the tracker's directory), or null when
   * the text says nothing.
   */
  parse(text: string): string | null;
  /** A text that is certainly not this framework's, although the file has its name. */
  isForeign(text: string): boolean;
}

const MAX_BYTES = 1024 * 1024;

const TRACKERS: readonly TrackerKind[] = [
  {
    file: 'latest_checkpointed_iteration.txt',
    parse: (text) => {
      const word = text.trim();
      if (word === 'release') return 'release';
      return /^\d{1,15}$/.test(word) ? `iter_${word.padStart(7, '0')}` : null;
    },
    isForeign: () => false,
  },
  { file: 'latest', parse: nameOrNull, isForeign: (text) => text.length > 512 },
  { file: 'latest_universal', parse: nameOrNull, isForeign: (text) => text.length > 512 },
  {
    file: 'checkpoint',
    parse: (text) => nameOrNull(/^[ \t]*model_checkpoint_path:\s*"((?:[^"\\]|\\.)*)"/m.exec(text)?.[1]?.split('/').at(-1) ?? ''),
    isForeign: (text) => text !== '' && !text.includes('model_checkpoint_path'),
  },
];

/** Longer than any name of a file. */
const LONGEST_NAME = 255;

function nameOrNull(text: string): string | null {
  const name = text.trim();
  if (name.length > LONGEST_NAME) return null;
  return name === '' || name === '.' || name === '..' || /[/\0\n]/.test(name) ? null : name;
}

/**
 * The trackers of a directory. {@link reportTracker} reports one that names nothing, or something
 * that is not there.
 */
export function readTrackers(directory: Directory): readonly Tracker[] {
  const trackers: Tracker[] = [];
  for (const kind of TRACKERS) {
    if (directory.entries.get(kind.file)?.kind !== 'file') continue;
    const text = textOf(directory, kind.file);
    if (text === null || kind.isForeign(text)) continue;
    const target = kind.parse(text);
    const isThere = target !== null && isPresent(directory, target);
    trackers.push({ directory, file: directory.pathOf(kind.file), target, isThere, step: target === null ? null : stepOfName(target) });
  }
  return trackers;
}

/** Null also when it cannot be read: a loader could not use it either. */
function textOf(directory: Directory, name: string): string | null {
  try {
    return directory.readText(name, MAX_BYTES);
  } catch (thrown) {
    if (thrown instanceof SourceError) return null;
    throw thrown;
  }
}

/** A folder, or the index of a file set, of that name. */
function isPresent(directory: Directory, target: string): boolean {
  return directory.has(target) || directory.has(`${target}.index`);
}

/** Reports the faults of a tracker file. */
export function reportTracker(tracker: Tracker, findings: Findings): void {
  const { file, target } = tracker;
  if (target === null) {
    const found = excerpt(textOf(tracker.directory, baseOf(file)) ?? '');
    const message = `${printable(file)} should name the newest checkpoint, but ${found === '' ? 'is empty' : 'names none'}`;
    findings.add('TRACKER_EMPTY', { file, expected: 'a name', found }, message);
  } else if (!tracker.isThere) {
    const message = `${printable(file)} names ${excerpt(target)} as the newest checkpoint, which is not there`;
    findings.add('TRACKER_TARGET_MISSING', { file, expected: excerpt(target), found: 'nothing' }, message);
  }
}

/** Trackers by the folder they lie in. */
export function trackersByFolder(trackers: readonly Tracker[]): ReadonlyMap<string, readonly Tracker[]> {
  return Map.groupBy(trackers, ({ directory }) => directory.path);
}

/** Reports a checkpoint that lies beside a tracker and has a higher step than the one it names. */
export function reportBehind(trackers: ReadonlyMap<string, readonly Tracker[]>, unit: Unit, findings: Findings): void {
  const step = stepOfName(baseOf(unit.path));
  for (const tracker of trackers.get(folderOf(unit.path)) ?? []) {
    if (tracker.step === null || step === null || step <= tracker.step) continue;
    const message = `${printable(tracker.file)} names step ${tracker.step} as the newest, but this one is of step ${step}`;
    findings.add('TRACKER_BEHIND', { file: tracker.file, expected: String(step), found: String(tracker.step) }, message);
  }
}

/** The file that a loader of these formats looks for when it gets no name. */
const SOUGHT: ReadonlyMap<string, readonly [string, ...string[]]> = new Map([
  ['deepspeed', ['latest', 'latest_universal']],
  ['megatron-dist', ['latest_checkpointed_iteration.txt']],
  ['megatron-legacy', ['latest_checkpointed_iteration.txt']],
]);

/** Reports folders with such checkpoints in which nothing names the newest of them. */
export function reportUntracked(root: Directory, units: readonly Unit[], findings: Findings): void {
  const seen = new Set<string>();
  for (const { path, format } of units) {
    const sought = SOUGHT.get(format?.id ?? '');
    const holder = folderOf(path);
    // What lies beside the root, when that is the checkpoint, was not looked at.
    if (sought === undefined || path === root.path || seen.has(holder) || isForeign(format?.id, path)) continue;
    seen.add(holder);
    const folder = holder === '' ? root : directoryAt(root, holder);
    // What could not be listed to its end may hold it all the same.
    if (folder === null || folder.problem !== null || sought.some((name) => folder.has(name))) continue;
    const message = `no ${sought[0]} names the newest checkpoint: a loader that is not told a name like ${excerpt(baseOf(path))} finds none`;
    findings.add('TRACKER_MISSING', { file: folder.pathOf(sought[0]), found: 'nothing' }, message);
  }
}

/** Others write the formats of Megatron under names of their own, and have no such file (NeMo). */
function isForeign(format: string | undefined, path: string): boolean {
  return format !== 'deepspeed' && !/^(iter_\d{7,}|release)$/.test(baseOf(path));
}

function directoryAt(root: Directory, path: string): Directory | null {
  return path.split('/').reduce<Directory | null>((directory, name) => directory?.directory(name) ?? null, root);
}

function folderOf(path: string): string {
  return path.slice(0, -baseOf(path).length).replace(/\/$/, '');
}

function baseOf(path: string): string {
  return path.split('/').at(-1) ?? path;
}
