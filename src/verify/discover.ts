import { printable } from '../core/printable.ts';
import { Findings } from '../formats/reading/findings.ts';
import type { DirectoryFormat, FileSet, FileSetFormat } from '../formats/reading/format.ts';
import { claimingFormat, guarded, probe, promisedFormat, recogniseFile } from '../formats/recognise.ts';
import { FILE_SET_FORMATS } from '../formats/table.ts';
import { groupLooseFiles, KeptFindings } from './grouping.ts';
import { isLeftover } from '../formats/reading/save-leftovers.ts';
import { LIMITS } from '../core/hostile-limits.ts';
import type { Directory, Entry } from '../bytes/source/directory.ts';
import { MANIFEST_NAME } from '../seal/names.ts';
import { naturalOrder } from '../bytes/source/natural-order.ts';
import { SourceError } from '../bytes/source/source-error.ts';
import { readTrackers, type Tracker } from '../formats/reading/trackers.ts';
import { filesBelow, filesNamed, inspection, once, type Unit } from '../formats/reading/unit.ts';

/**
 * The content of a path: checkpoints, the trackers that point at them, and evidence about the run
 * as a whole.
 */
export interface Discovery {
  /** The largest number of checkpoints to judge. */
  readonly most: number;
  readonly units: Unit[];
  readonly trackers: Tracker[];
  /** Evidence that belongs to no single checkpoint. */
  readonly findings: Findings;
  /** Files that are no part of any checkpoint. */
  ignored: number;
  /** Files that were opened to recognise them. */
  opened: number;
  readonly kept: KeptFindings;
}

/** Folders that never hold checkpoints and can be large. */
const SKIPPED = new Set(['.holdfast', '.git', 'node_modules', '__pycache__', 'lost+found']);

/**
 * Finds the checkpoints below a directory. A directory that a format claims is a checkpoint, and
 * the search does not go deeper there.
 */
export function discover(root: Directory, most: number = LIMITS.checkpoints): Discovery {
  const discovery = nothingFound(most);
  search(root, discovery, 0);
  return discovery;
}

function nothingFound(most: number): Discovery {
  return { most, units: [], trackers: [], findings: new Findings(), ignored: 0, opened: 0, kept: new KeptFindings() };
}

function search(directory: Directory, discovery: Discovery, depth: number): void {
  // The seal covers the whole folder: for every command its content is one checkpoint.
  if (directory.has(MANIFEST_NAME)) {
    if (!refuseMore(discovery, directory.path)) discovery.units.push(sealedUnit(directory, depth));
  } else searchInside(directory, discovery, depth);
}

function searchInside(directory: Directory, discovery: Discovery, depth: number): void {
  const format = claimingFormat(directory);
  if (format !== null) {
    discovery.units.push(directoryUnit(directory, format));
    return;
  }
  if (directory.problem !== null) {
    const { evidence, file, message } = directory.problem;
    discovery.findings.add(evidence, { file }, message);
  }
  const claimed = claimSets(directory, discovery);
  for (const tracker of readTrackers(directory)) discovery.trackers.push(tracker);
  const candidates = looseCandidates(directory, claimed, discovery);
  for (const unit of groupLooseFiles(directory, candidates, discovery.kept)) discovery.units.push(unit);
  searchFolders(directory, discovery, depth);
}

/** Reports once that checkpoints are left out. Returns true if no further one is judged. */
function refuseMore(discovery: Discovery, path: string, coming = 0): boolean {
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
      if (refuseMore(discovery, directory.path)) return claimed;
      if (set.members.some((name) => claimed.has(name))) continue;
      for (const name of set.members) claimed.add(name);
      discovery.units.push(setUnit(directory, format, set));
    }
  }
  return claimed;
}

/**
 * The findings of a format in a folder. An unreadable file is evidence; the other formats judge the
 * other files.
 */
function claimedBy(format: FileSetFormat, directory: Directory, findings: Findings): readonly FileSet[] {
  let sets: readonly FileSet[] = [];
  guarded(findings, directory.path, () => {
    sets = format.claim(directory);
  });
  return sets;
}

/** Files outside of sets that have a known format, or whose name promises one. */
function looseCandidates(directory: Directory, claimed: ReadonlySet<string>, discovery: Discovery): readonly Entry[] {
  const candidates: Entry[] = [];
  for (const entry of directory.entries.values()) {
    if (entry.kind === 'directory' || claimed.has(entry.name)) continue;
    if (isLeftover(entry.name)) reportLeftover(directory, entry.name, discovery.findings);
    else if (!isAlias(entry) && isCandidate(directory, entry, discovery)) {
      if (refuseMore(discovery, directory.path, candidates.length)) break;
      candidates.push(entry);
    } else discovery.ignored++;
  }
  return candidates.sort((a, b) => naturalOrder(a.name, b.name));
}

/**
 * A link to another file of the same tree (`last.ckpt`): its target is listed under its own name.
 */
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
    if (refuseMore(discovery, directory.path)) return;
    const folder = directory.directory(name);
    if (folder === null || SKIPPED.has(name)) continue;
    if (isLeftover(name)) reportLeftover(directory, name, discovery.findings);
    else if (depth >= LIMITS.treeDepth) {
      const message = `more than ${LIMITS.strangers} files have names that do not show what they are; the others were not opened`;
      discovery.findings.add('LIMIT_EXCEEDED', { file: folder.path }, message);
    } else search(folder, discovery, depth + 1);
  }
}

function reportLeftover(directory: Directory, name: string, findings: Findings): void {
  const file = directory.pathOf(name);
  findings.add('TEMP_LEFTOVER', { file }, `${printable(file)} is left over from an interrupted save; it is not a checkpoint`);
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
        // Names that were not listed may be missed or missed out: what is said about the rest
        // stands under that.
        if (directory.problem !== null) findings.add(directory.problem.evidence, { file: directory.path }, directory.problem.message);
        format.inspect(directory, findings, probe);
      }),
    ),
  };
}

/** A sealed folder: the seal names its files and vouches for every byte, whatever their formats. */
function sealedUnit(directory: Directory, depth: number): Unit {
  const inside = once(() => {
    const found = nothingFound(LIMITS.checkpoints);
    searchInside(directory, found, depth);
    return found;
  });
  return {
    kind: 'directory',
    path: directory.path,
    get format() {
      const [first, ...others] = inside().units.map(({ format }) => format);
      return first !== undefined && others.every((format) => format?.id === first?.id) ? first : SEALED_FILES;
    },
    get grouping() {
      const [only, ...others] = inside().units;
      if (only === undefined) return 'one directory, sealed; its files are of no known format';
      return others.length > 0 || only.kind !== 'directory' ? 'one directory, sealed as one checkpoint' : only.grouping;
    },
    directory,
    files: once(() => filesBelow(directory)),
    ...inspection(() => inspected(directory.path, (findings) => addParts(inside(), findings))),
  };
}

const SEALED_FILES = { id: 'sealed', title: 'sealed files' };

/** Takes over the findings of the readers in the parts of a sealed folder. */
function addParts({ units, findings: around }: Discovery, findings: Findings): void {
  findings.merge(around);
  for (const unit of units) {
    findings.merge(unit.inspect());
    unit.forget();
  }
  if (units.length === 0) findings.content.isOpaque = true;
  // Parts that were sealed together may count differently, one in steps and another in epochs.
  if (units.length > 1) findings.content.steps.splice(0);
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
