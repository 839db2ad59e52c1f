import type { Findings } from './findings.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import type { Directory, Entry } from '../../bytes/source/directory.ts';

/** One checkpoint as it lies on disk: a directory, or files that belong together. */
export interface Unit {
  readonly kind: 'directory' | 'set' | 'group' | 'file';
  /** Path below the root; what a trainer would be given. */
  readonly path: string;
  readonly format: { readonly id: string; readonly title: string } | null;
  /** How the files were grouped, for a person. */
  readonly grouping: string;
  /** The directory that is the checkpoint, or the one its files lie in. */
  readonly directory: Directory;
  /** Its files, with their paths below the root. For a directory: everything inside. */
  files(): ReadonlyMap<string, Entry>;
  /** What the readers found; computed once, until it is forgotten. */
  inspect(): Findings;
  /** The step inside, where it is known without inspecting. */
  readonly insideStep?: number | null;
  /** Lets go of what was found: of thousands of checkpoints one is held at a time. */
  forget(): void;
}

/** The files of these names that are there. */
export function filesNamed(directory: Directory, names: readonly string[]): ReadonlyMap<string, Entry> {
  const files = new Map<string, Entry>();
  for (const name of names) {
    const entry = directory.entries.get(name);
    if (entry !== undefined) files.set(directory.pathOf(name), entry);
  }
  return files;
}

/** Every file of a directory, at any depth, links that lead nowhere included. */
export function filesBelow(directory: Directory, depth = 0, files = new Map<string, Entry>()): ReadonlyMap<string, Entry> {
  for (const entry of directory.entries.values()) {
    if (entry.kind !== 'directory') files.set(directory.pathOf(entry.name), entry);
    else if (depth < LIMITS.treeDepth) {
      const folder = directory.directory(entry.name);
      if (folder !== null) filesBelow(folder, depth + 1, files);
    }
  }
  return files;
}

/** Inspects at the first call and remembers until told to forget. */
export function inspection(inspect: () => Findings): Pick<Unit, 'inspect' | 'forget'> {
  let found: Findings | null = null;
  return {
    inspect: () => (found ??= inspect()),
    forget: () => {
      found = null;
    },
  };
}

/** Computes at the first call and remembers. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}
