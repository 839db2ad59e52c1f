import { printable } from '../core/printable.ts';
import { Findings } from './findings.ts';
import type { DirectoryFormat, FileSet, FileSetFormat } from './formats/format.ts';
import { claimingFormat, guarded, probe, promisedFormat, recogniseFile } from './formats/probe.ts';
import { FILE_SET_FORMATS } from './formats/table.ts';
import { groupLooseFiles, KeptFindings } from './grouping.ts';
import { isLeftover } from './leftovers.ts';
import { LIMITS } from './limits.ts';
import type { Directory, Entry } from './source/directory.ts';
import { MANIFEST_NAME } from './store/layout.ts';
import { naturalOrder } from './source/natural-order.ts';
import { SourceError } from './source/source-error.ts';
import { readTrackers, type Tracker } from './trackers.ts';
import { filesBelow, filesNamed, inspection, once, type Unit } from './unit.ts';

/** What lies below a path: checkpoints, the trackers that point at them, and evidence about the run as a whole. */
export interface Discovery {
  /** How many checkpoints may be judged. */
  readonly most: number;
  readonly units: Unit[];
  readonly trackers: Tracker[];
  /** Evidence that belongs to no single checkpoint. */
  readonly findings: Findings;
  /** Files that are no part of any checkpoint. */
  ignored: number;
  /** Files that were opened to see what they are. */
  opened: number;
  readonly kept: KeptFindings;
}

/** Folders that never hold checkpoints and can be large. */
const SKIPPED = new Set(['.holdfast', '.git', 'node_modules', '__pycache__', 'lost+found']);

/** Finds the checkpoints below a directory. A directory that a format claims is one; it is not searched further. */
export function discover(root: Directory, most: number = LIMITS.checkpoints): Discovery {
  const discovery: Discovery = { most, units: [], trackers: [], findings: new Findings(), ignored: 0, opened: 0, kept: new KeptFindings() };
  search(root, discovery, 0);
  return discovery;
}

function search(directory: Directory, discovery: Discovery, depth: number): void {
  const format = claimingFormat(directory);
  if (format !== null) {
    discovery.units.push(directoryUnit(directory, format));
    return;
  }
  if (directory.problem !== null) {
    const { evidence, file, message } = directory.problem;
    discovery.findings.add(evidence, { file }, message);
  }
  const before = discovery.units.length;
  const claimed = claimSets(directory, discovery);
  for (const tracker of readTrackers(directory)) discovery.trackers.push(tracker);
  const candidates = looseCandidates(directory, claimed, discovery);
  for (const unit of groupLooseFiles(directory, candidates, discovery.kept)) discovery.units.push(unit);
  searchFolders(directory, discovery, depth);
  if (discovery.units.length === before && directory.has(MANIFEST_NAME) && !isFull(discovery, directory.path)) {
    discovery.units.push(sealedUnit(directory));
  }
}

/** True when no further checkpoint is judged; what is left out is told once. */
function isFull(discovery: Discovery, path: string, coming = 0): boolean {
  if (discovery.units.length + coming < discovery.most) return false;
  reportLimit(
    discovery,
    path,
    `there are more than the ${LIMITS.checkpoints} checkpoints that are judged at once; the others were left out`,
  );
  return true;
}

function reportLimit({ findings }: Discovery, path: string, message: string): void {
  if (!findings.evidence.some((known) => known.message === message)) findings.add('LIMIT_EXCEEDED', { file: path }, message);
}

function claimSets(directory: Directory, discovery: Discovery): ReadonlySet<string> {
  const claimed = new Set<string>();
  for (const format of FILE_SET_FORMATS) {
    for (const set of claimedBy(format, directory, discovery.findings)) {
      if (isFull(discovery, directory.path)) return claimed;
      if (set.members.some((name) => claimed.has(name))) continue;
      for (const name of set.members) claimed.add(name);
      discovery.units.push(setUnit(directory, format, set));
    }
  }
  return claimed;
}

/** What a format finds in a folder; a file it cannot read is evidence, and the others are left to the other formats. */
function claimedBy(format: FileSetFormat, directory: Directory, findings: Findings): readonly FileSet[] {
  let sets: readonly FileSet[] = [];
  guarded(findings, directory.path, () => {
    sets = format.claim(directory);
  });
  return sets;
}

/** Files in no set that are of a known format, or whose name promises one. */
function looseCandidates(directory: Directory, claimed: ReadonlySet<string>, discovery: Discovery): readonly Entry[] {
  const candidates: Entry[] = [];
  for (const entry of directory.entries.values()) {
    if (entry.kind === 'directory' || claimed.has(entry.name)) continue;
    if (isLeftover(entry.name)) reportLeftover(directory, entry.name, discovery.findings);
    else if (!isAlias(entry) && isCandidate(directory, entry, discovery)) {
      if (isFull(discovery, directory.path, candidates.length)) break;
      candidates.push(entry);
    } else discovery.ignored++;
  }
  return candidates.sort((a, b) => naturalOrder(a.name, b.name));
}

/** A link to another file of the same tree (`last.ckpt`): what it points to is listed under its own name. */
function isAlias(entry: Entry): boolean {
  return entry.isLink && entry.kind === 'file';
}

function isCandidate(directory: Directory, entry: Entry, discovery: Discovery): boolean {
  if (promisedFormat(entry.name) !== null) return true;
  if (entry.kind !== 'file') return false;
  if (++discovery.opened > LIMITS.strangers) {
    reportLimit(discovery, '', `more than ${LIMITS.strangers} files are of no name that tells what they are; the others were not opened`);
    return false;
  }
  if (entry.size === 0) return false;
  try {
    const source = directory.open(entry.name);
    return recogniseFile(source.read(0, 4096), source) !== null;
  } catch (thrown) {
    if (thrown instanceof SourceError) return false;
    throw thrown;
  }
}

function searchFolders(directory: Directory, discovery: Discovery, depth: number): void {
  const names = [...directory.entries.values()].filter((entry) => entry.kind === 'directory').map(({ name }) => name);
  for (const name of names.sort(naturalOrder)) {
    if (isFull(discovery, directory.path)) return;
    const folder = directory.directory(name);
    if (folder === null || SKIPPED.has(name)) continue;
    if (isLeftover(name)) reportLeftover(directory, name, discovery.findings);
    else if (depth >= LIMITS.treeDepth) {
      const message = `${printable(folder.path)} lies deeper than ${LIMITS.treeDepth} folders, so it was not searched`;
      discovery.findings.add('LIMIT_EXCEEDED', { file: folder.path }, message);
    } else search(folder, discovery, depth + 1);
  }
}

function reportLeftover(directory: Directory, name: string, findings: Findings): void {
  const file = directory.pathOf(name);
  findings.add('TEMP_LEFTOVER', { file }, `${printable(file)} is what an interrupted save left behind; it is no checkpoint`);
}

function directoryUnit(directory: Directory, format: DirectoryFormat): Unit {
  return {
    kind: 'directory',
    path: directory.path,
    format,
    grouping: `one directory, claimed as ${format.title}`,
    directory,
    files: once(() => filesBelow(directory)),
    ...inspection(() =>
      inspected(directory.path, (findings) => {
        // Names that were not listed may be missed or missed out: what is said about the rest stands under that.
        if (directory.problem !== null) findings.add(directory.problem.evidence, { file: directory.path }, directory.problem.message);
        format.inspect(directory, findings, probe);
      }),
    ),
  };
}

/** Files of no known format that were sealed: the seal says which they are and vouches for every byte. */
function sealedUnit(directory: Directory): Unit {
  return {
    kind: 'directory',
    path: directory.path,
    format: { id: 'sealed', title: 'sealed files' },
    grouping: 'one directory, sealed; its files are of no known format',
    directory,
    files: once(() => filesBelow(directory)),
    ...inspection(() =>
      inspected(directory.path, (findings) => {
        findings.content.isOpaque = true;
      }),
    ),
  };
}

function setUnit(directory: Directory, format: FileSetFormat, set: FileSet): Unit {
  const count = set.members.length;
  return {
    kind: 'set',
    path: directory.pathOf(set.name),
    format,
    grouping: `${count} ${count === 1 ? 'file' : 'files'}, claimed as ${format.title}`,
    directory,
    files: once(() => filesNamed(directory, set.members)),
    ...inspection(() => inspected(directory.pathOf(set.name), (findings) => format.inspect(set, directory, findings, probe))),
  };
}

function inspected(path: string, read: (findings: Findings) => void): Findings {
  const findings = new Findings();
  guarded(findings, path, () => read(findings));
  return findings;
}
