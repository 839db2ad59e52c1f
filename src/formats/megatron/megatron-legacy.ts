import { printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { noteMegatronState, type ParallelSizes, parallelSizes } from './common-state.ts';
import { checkModelRanks, type ModelRank, parseModelRank } from './model-ranks.ts';
import { dictGet } from '../encodings/pickle/value.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import type { DirectoryFormat, Probe } from '../reading/format.ts';
import { membersNamed } from '../reading/members.ts';
import { checkNamedStep } from '../reading/named-step.ts';
import { readObject } from '../torch/torch-member.ts';
import { holdsState } from '../encodings/pickle/training-values.ts';

const DISTRIBUTED_OPTIMIZER = 'distrib_optim.pt';
/** The second name belongs to runs that keep the optimizer in another file. */
const MODEL = ['model_optim_rng.pt', 'model_rng.pt'];

/**
 * One `iter_*` directory in Megatron's older layout: a folder with a torch file for every
 * model-parallel rank.
 */
export const megatronLegacy: DirectoryFormat = {
  id: 'megatron-legacy',
  title: 'Megatron checkpoint (one file per rank)',
  claims(directory) {
    for (const { name, kind } of directory.entries.values()) if (kind === 'directory' && parseModelRank(name) !== null) return true;
    return false;
  },
  inspect,
};

function inspect(directory: Directory, findings: Findings, probe: Probe): void {
  const ranks: ModelRank[] = [];
  for (const { name, kind } of directory.entries.values()) {
    const rank = kind === 'directory' ? parseModelRank(name) : null;
    if (rank !== null) ranks.push(rank);
  }
  const states = ranks.map(({ folder }) => inspectRank(directory.directory(folder), findings, probe));
  const sizes = states.map((state) => state?.sizes ?? null).filter((size) => size !== null);
  checkSameLayout(sizes, findings);
  checkModelRanks(directory, ranks, sizes[0] ?? null, findings);
  checkDistributedOptimizer(directory, ranks, sizes, findings);
  checkNamedStep(directory.name, /^iter_(\d{7,})$/, findings);
}

interface RankState {
  readonly sizes: ParallelSizes | null;
}

function inspectRank(folder: Directory | null, findings: Findings, probe: Probe): RankState | null {
  if (folder === null) return null;
  const name = MODEL.find((candidate) => folder.has(candidate)) ?? MODEL[0] ?? '';
  const file = folder.pathOf(name);
  const { value } = readObject(folder, name, findings, probe);
  for (const { name: other } of membersNamed(folder, /^(distrib_optim|layer_wise_optimizer_\d+)\.pt$/)) {
    readObject(folder, other, findings, probe);
    findings.content.add('optimizer', folder.pathOf(other));
  }
  if (value === undefined) return null;
  noteMegatronState(value, file, findings);
  if (holdsState(dictGet(value, 'optimizer'))) findings.content.add('optimizer', file);
  return { sizes: parallelSizes(value) };
}

function checkSameLayout(sizes: readonly ParallelSizes[], findings: Findings): void {
  const layouts = [...new Set(sizes.map(({ tensor, pipeline, expert }) => [tensor, pipeline ?? '?', expert].join(' × ')))];
  if (layouts.length < 2) return;
  const message = `the files come from runs of different layouts (tensor × pipeline × expert): ${layouts.slice(0, 4).join(', ')}`;
  findings.add('MEGATRON_ARGUMENTS_DIFFER', { file: null, expected: layouts[0] ?? '', found: layouts.slice(1, 4).join(', ') }, message);
}

/**
 * Where one rank has a file of the distributed optimizer, or the arguments ask for it, all must.
 */
function checkDistributedOptimizer(
  directory: Directory,
  ranks: readonly ModelRank[],
  sizes: readonly ParallelSizes[],
  findings: Findings,
): void {
  const folders = ranks.map(({ folder }) => directory.directory(folder)).filter((folder) => folder !== null);
  const having = folders.filter((folder) => folder.has(DISTRIBUTED_OPTIMIZER)).length;
  const isAsked = sizes.some(({ usesDistributedOptimizer }) => usesDistributedOptimizer) && !folders.some(hasLayerWiseOptimizer);
  if (having === 0 && !(isAsked && findings.content.found.optimizer.length > 0)) return;
  for (const folder of folders) {
    if (folder.has(DISTRIBUTED_OPTIMIZER)) continue;
    const file = folder.pathOf(DISTRIBUTED_OPTIMIZER);
    findings.add('FILE_MISSING', { file }, `${printable(file)} is missing: the optimizer is distributed over the ranks`);
  }
}

function hasLayerWiseOptimizer(folder: Directory): boolean {
  return folder.files(/^layer_wise_optimizer_\d+\.pt$/).length > 0;
}
