import { printable } from '../../core/printable.ts';
import type { Probe } from '../reading/format.ts';
import { membersNamed } from '../reading/members.ts';
import { type Place, reportMissing } from '../reading/numbering.ts';
import { readObject } from '../torch/torch-member.ts';

const SINGLE = 'rng_state.pth';
const OF_RANK = /^rng_state_(\d+)\.pth$/;

/**
 * Random state of the Trainer: `rng_state.pth` of a single process, or one file for each rank.
 * Complete against the number of processes where it is known, else without gaps. False when there
 * is none.
 */
export function inspectRandomStates(place: Place, world: number | null, probe: Probe): boolean {
  const { directory, findings } = place;
  const ranks = membersNamed(directory, OF_RANK).map(({ name }) => ({ name, rank: Number(OF_RANK.exec(name)?.[1]) }));
  const hasSingle = directory.has(SINGLE);
  if (hasSingle) ranks.unshift({ name: SINGLE, rank: 0 });
  for (const { name, rank } of ranks) {
    readObject(directory, name, findings, probe);
    findings.content.add('rng', directory.pathOf(name));
    findings.content.addRank(rank);
  }
  findings.content.rngRanks.expected = world;
  reportLeftovers(place, ranks, world, hasSingle);
  reportGaps(place, ranks, world, hasSingle);
  return ranks.length > 0;
}

interface RandomState {
  readonly name: string;
  readonly rank: number;
}

function reportGaps(place: Place, ranks: readonly RandomState[], world: number | null, hasSingle: boolean): void {
  const isTraining = place.findings.content.found.optimizer.length > 0;
  if (ranks.length === 0 && !isTraining) return;
  if (world === 1 || (world === null && (hasSingle || ranks.length === 0))) {
    if (!hasSingle) reportMissing(place, { found: [], expected: 1, of: 'process', nameOf: () => SINGLE });
    return;
  }
  const found = ranks.filter(({ name }) => name !== SINGLE).map(({ rank }) => rank);
  reportMissing(place, { found, expected: world, of: 'processes', nameOf: (rank) => `rng_state_${rank}.pth` });
}

/** Random state of a rank beyond the world, or under the name of the other kind of run. */
function reportLeftovers({ directory, findings }: Place, ranks: readonly RandomState[], world: number | null, hasSingle: boolean): void {
  const isMixed = hasSingle && ranks.length > 1;
  for (const { name, rank } of ranks) {
    const isOfOtherKind = world === null ? isMixed && name === SINGLE : (name === SINGLE) !== (world === 1);
    if (!isOfOtherKind && rank < (world ?? Number.POSITIVE_INFINITY)) continue;
    const written = world === null ? 'random state of single ranks is there too' : `${world} processes wrote this checkpoint`;
    const where = { file: directory.pathOf(name), ...(world === null ? {} : { expected: `${world} processes` }) };
    findings.add('TRAINER_RNG_LEFTOVER', where, `${printable(name)} belongs to another save: ${written}`);
  }
}
