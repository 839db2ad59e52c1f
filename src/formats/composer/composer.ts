import { counted } from '../../core/counted.ts';
import { printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { asInt, asItems, dictEntries, dictGet, type PickleValue } from '../encodings/pickle/value.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import type { FileSet, FileSetFormat, Probe } from '../reading/format.ts';
import { membersNamed } from '../reading/members.ts';
import { type Place, reportMissing } from '../reading/numbering.ts';
import { readObject } from '../torch/torch-member.ts';
import { holdsState } from '../encodings/pickle/training-values.ts';

const NAME = /^(?<set>ep\d+-ba(?<batch>\d+))-rank(?<rank>\d+)(?<extension>\.pt)?$/;
const LINK = /^latest-rank(\d+)(\.pt)?$/;

/**
 * Rank files of MosaicML Composer, `ep1-ba10-rank0.pt`: one of rank 0 alone, or one of every rank.
 */
export const composer: FileSetFormat = { id: 'composer', title: 'Composer checkpoint', claim, inspect };

function claim(directory: Directory): readonly FileSet[] {
  const sets = new Map<string, string[]>();
  const links = linksByTarget(directory);
  for (const { name, identity } of membersNamed(directory, NAME)) {
    const set = NAME.exec(name)?.groups?.['set'] ?? name;
    const members = sets.get(set) ?? [];
    sets.set(set, members);
    members.push(name);
    const alias = links.get(identity);
    if (alias !== undefined) members.push(alias);
  }
  return [...sets].map(([name, members]) => ({ name, members }));
}

/** Names of links to the latest files, by the identity of what they lead to. */
function linksByTarget(directory: Directory): ReadonlyMap<string, string> {
  const links = new Map<string, string>();
  for (const { name, isLink, identity } of membersNamed(directory, LINK)) if (isLink && identity !== '') links.set(identity, name);
  return links;
}

/** What a rank file says. */
interface RankFile {
  readonly name: string;
  readonly rank: number;
  readonly extension: string;
  /** Ranks whose random state it holds: the whole world. */
  readonly world: number | null;
}

function inspect(set: FileSet, directory: Directory, findings: Findings, probe: Probe): void {
  const place = { directory, findings };
  const files: RankFile[] = [];
  for (const name of set.members) {
    const groups = NAME.exec(name)?.groups;
    if (groups === undefined) continue;
    const { value } = readObject(directory, name, findings, probe);
    const world = value === undefined ? null : noteContent(value, directory.pathOf(name), findings);
    files.push({ name, rank: Number(groups['rank']), extension: groups['extension'] ?? '', world });
  }
  checkName(set, place);
  checkRanks(set, place, files);
}

/** Notes what one file holds, and returns how many ranks its random states are of. */
function noteContent(value: PickleValue, file: string, { content }: Findings): number | null {
  const state = dictGet(value, 'state');
  if (holdsState(dictGet(state, 'model'))) content.add('weights', `${file}: state.model`);
  if (holdsState(dictGet(state, 'optimizers'))) content.add('optimizer', `${file}: state.optimizers`);
  if (holdsState(dictGet(state, 'schedulers'))) content.add('scheduler', `${file}: state.schedulers`);
  const step = batchOf(dictGet(state, 'timestamp'));
  if (step !== null) content.addStep(step, file, `${file}: timestamp.batch`);
  const states = asItems(dictGet(value, 'rng'));
  if (states === null || states.length === 0) return null;
  content.add('rng', `${file}: rng`);
  if (content.rngRanks.expected === null) {
    content.rngRanks.expected = states.length;
    for (const rank of states.keys()) content.addRank(rank);
  }
  return states.length;
}

/** `{Timestamp: {batch: 10, …}}`, and without the class's name in early versions. */
function batchOf(timestamp: PickleValue | undefined): number | null {
  const direct = asInt(dictGet(timestamp, 'batch'));
  if (direct !== null) return direct;
  for (const [, named] of dictEntries(timestamp)) {
    const batch = asInt(dictGet(named, 'batch'));
    if (batch !== null) return batch;
  }
  return null;
}

function checkName(set: FileSet, { findings }: Place): void {
  const named = /-ba(\d+)$/.exec(set.name)?.[1];
  const [inside] = findings.content.steps;
  if (named === undefined || inside === undefined || Number(named) === inside.step) return;
  const message = `the files are named for batch ${named}, but ${printable(inside.where)} is ${inside.step}`;
  findings.add('STEP_NOT_AS_NAMED', { file: inside.file, expected: named, found: String(inside.step) }, message);
}

/** Rank 0 alone, or every rank. */
function checkRanks(set: FileSet, place: Place, files: readonly RankFile[]): void {
  const isAlone = files.length === 1 && files[0]?.rank === 0;
  const reference = files.find(({ world }) => world !== null);
  const nameOf = (rank: number) => `${set.name}-rank${rank}${files[0]?.extension ?? ''}`;
  const found = files.map(({ rank }) => rank);
  if (!isAlone) reportMissing(place, { found, expected: reference?.world ?? null, of: 'ranks', nameOf });
  if (reference === undefined || reference.world === null) return;
  place.findings.content.worldSize ??= reference.world;
  for (const file of files) reportForeign(place, file, { name: reference.name, world: reference.world });
}

/** A file of a rank that this world does not have, or that says to be of another world. */
function reportForeign({ directory, findings }: Place, file: RankFile, reference: { readonly name: string; readonly world: number }): void {
  const { world } = reference;
  const where = { file: directory.pathOf(file.name), expected: counted(world, 'rank') };
  if (file.rank >= world) {
    findings.add(
      'COMPOSER_LEFTOVER_RANK',
      where,
      `${printable(file.name)} belongs to another save: this one was made by ${counted(world, 'rank')}`,
    );
  } else if (file.world !== null && file.world !== world) {
    const message = `${printable(file.name)} was saved by ${counted(file.world, 'rank')}, ${printable(reference.name)} by ${world}`;
    findings.add('COMPOSER_FILES_DISAGREE', { ...where, found: counted(file.world, 'rank') }, message);
  }
}
