import type { Findings } from '../reading/findings.ts';
import { asInt, asItems, dictGet } from '../encodings/pickle/value.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { readTrackers, reportTracker } from '../reading/trackers.ts';
import type { DirectoryFormat, Probe } from '../reading/format.ts';
import { folders, membersNamed } from '../reading/members.ts';
import { type Place, reportMissing } from '../reading/numbering.ts';
import { readObject } from '../torch/torch-member.ts';
import { inspectFolder, inspectWeights, isWeightsName, requireFile } from './trainer-weights.ts';

const RANDOM = /^random_states_(\d+)\.pkl$/;
const OPTIMIZER = /^optimizer(?:_(\d+))?\.bin$/;
const SCHEDULER = /^scheduler(?:_(\d+))?\.bin$/;
/** Samplers, data loaders, the scaler of gradients, objects the user registered. */
const OTHER = /^(sampler|dl_state_dict|custom_checkpoint)(_\d+)?\.(bin|pkl)$|^scaler\.pt$/;
/**
 * Optimizer state that each rank wrote for itself (FSDP without torch's distributed checkpointing).
 */
const OPTIMIZER_OF_RANK = /^optimizer_\d+_rank\d+\.bin$/;

/**
 * A directory of `Accelerator.save_state`. `checkpoint_N` counts saves, and the training's step is
 * left to the user.
 */
export const accelerate: DirectoryFormat = { id: 'accelerate', title: 'Accelerate checkpoint', claims, inspect };

function claims(directory: Directory): boolean {
  if (directory.has('trainer_state.json')) return false;
  if (membersNamed(directory, RANDOM).length + membersNamed(directory, OPTIMIZER).length + membersNamed(directory, SCHEDULER).length > 0)
    return true;
  if (!/^checkpoint_\d+$/.test(directory.name)) return false;
  if (directory.entries.size === 0) return true;
  for (const name of directory.entries.keys()) if (isWeightsName(name)) return true;
  return false;
}

function inspect(directory: Directory, findings: Findings, probe: Probe): void {
  const place = { directory, findings };
  const isDeepSpeed = inspectDeepSpeed(place, probe);
  const hasWeights = inspectWeights(directory, findings, probe) || inspectHookedWeights(place, probe) || isDeepSpeed;
  if (!hasWeights) findings.add('TRAINER_NO_WEIGHTS', { file: null }, 'no weights are there, under any name Accelerate uses');
  const isScheduled = inspectOptimizers(place, probe);
  for (const { name } of membersNamed(directory, SCHEDULER)) {
    readObject(directory, name, findings, probe);
    findings.content.add('scheduler', directory.pathOf(name));
  }
  for (const { name } of membersNamed(directory, OTHER)) readObject(directory, name, findings, probe);
  inspectRandomStates(place, probe);
  checkNumbers(place, isDeepSpeed);
  if (isScheduled && !isDeepSpeed) requireScheduler(place);
}

/**
 * Inspects what was saved of the optimizers; true when a scheduler drove one of them, which leaves
 * the rate it began with.
 */
function inspectOptimizers({ directory, findings }: Place, probe: Probe): boolean {
  let isScheduled = false;
  for (const { name } of [...membersNamed(directory, OPTIMIZER), ...membersNamed(directory, OPTIMIZER_OF_RANK)]) {
    const { value } = readObject(directory, name, findings, probe);
    isScheduled ||= dictGet(asItems(dictGet(value, 'param_groups'))?.[0], 'initial_lr') !== undefined;
    findings.content.add('optimizer', directory.pathOf(name));
  }
  for (const folder of folders(directory)) if (/^optimizer_\d+$/.test(folder.name)) inspectFolder(folder, 'optimizer', findings, probe);
  return isScheduled;
}

/**
 * Objects that a user registers may hold the scheduler too; otherwise a resumed run would begin its
 * schedule anew, and say nothing.
 */
function requireScheduler(place: Place): void {
  const { directory, findings } = place;
  if (findings.content.found.scheduler.length > 0 || membersNamed(directory, /^custom_checkpoint_\d+\.pkl$/).length > 0) return;
  requireFile(place, 'scheduler.bin', 'the optimizer had a scheduler, but no file holds the state of the scheduler');
}

/**
 * Written last by each rank. Each carries Accelerate's counter towards the next accumulation of
 * gradients, the same on every rank.
 */
function inspectRandomStates(place: Place, probe: Probe): void {
  const { directory, findings } = place;
  const { content } = findings;
  let reference: { readonly name: string; readonly step: number } | null = null;
  const found: number[] = [];
  for (const { name } of membersNamed(directory, RANDOM)) {
    const file = directory.pathOf(name);
    const step = asInt(dictGet(readObject(directory, name, findings, probe).value, 'step'));
    content.add('rng', file);
    found.push(Number(RANDOM.exec(name)?.[1]));
    if (step === null) continue;
    reference ??= { name, step };
    if (reference.step === step) continue;
    const message = `${reference.name} was saved when its counter of batches was ${reference.step}, ${name} when it was ${step}: pieces of two saves`;
    findings.add('STEP_MISMATCH', { file, expected: String(reference.step), found: String(step) }, message);
  }
  for (const rank of found) content.addRank(rank);
  content.rngRanks.expected = content.worldSize;
  reportMissing(place, { found, expected: content.worldSize ?? (found.length === 0 ? 1 : null), of: 'processes', nameOf: randomStates });
  for (const rank of found) if (rank >= (content.worldSize ?? Number.POSITIVE_INFINITY)) reportLeftover(place, randomStates(rank));
}

function randomStates(rank: number): string {
  return `random_states_${rank}.pkl`;
}

function reportLeftover({ directory, findings }: Place, name: string): void {
  const message = `${name} belongs to another save: ${findings.content.worldSize} processes wrote this checkpoint`;
  findings.add('TRAINER_RNG_LEFTOVER', { file: directory.pathOf(name), expected: `${findings.content.worldSize} processes` }, message);
}

/**
 * Models, optimizers and schedulers are numbered from the second on; a scheduler never comes
 * without an optimizer.
 */
function checkNumbers(place: Place, isDeepSpeed: boolean): void {
  const { directory, findings } = place;
  const numbered = (pattern: RegExp) => membersNamed(directory, pattern).map(({ name }) => Number(pattern.exec(name)?.[1] ?? 0));
  const nameOf = (stem: string, extension: string) => (number: number) => `${stem}${number === 0 ? '' : `_${number}`}.${extension}`;
  for (const stem of ['optimizer', 'scheduler']) {
    const found = numbered(new RegExp(`^${stem}(?:_(\\d+))?\\.bin$`));
    reportMissing(place, { found, expected: null, of: `${stem}s`, nameOf: nameOf(stem, 'bin') });
  }
  for (const [stem, extension] of [
    ['model', 'safetensors'],
    ['pytorch_model', 'bin'],
  ] as const) {
    const found = numbered(new RegExp(`^${stem}(?:_(\\d+))?\\.${extension}$`));
    reportMissing(place, { found, expected: null, of: 'models', nameOf: nameOf(stem, extension) });
  }
  if (isDeepSpeed || findings.content.found.scheduler.length === 0 || findings.content.found.optimizer.length > 0) return;
  const file = directory.pathOf('optimizer.bin');
  findings.add('FILE_MISSING', { file }, 'optimizer.bin is missing: the state of its scheduler is there');
}

/** DeepSpeed saves model and optimizer into a tag directory, here named like a model. */
function inspectDeepSpeed({ directory, findings }: Place, probe: Probe): boolean {
  for (const tracker of readTrackers(directory)) reportTracker(tracker, findings);
  let isFound = directory.has('latest');
  for (const folder of folders(directory)) {
    if (!/^(pytorch_model(_\d+)?|global_step\d+)$/.test(folder.name)) continue;
    const member = probe.inspectDirectory(folder);
    if (member === null) continue;
    findings.merge(member.findings);
    isFound = true;
  }
  return isFound;
}

/**
 * A hook can save weights its own way: Diffusers puts each model into a folder, or adapters beside
 * the rest.
 */
function inspectHookedWeights({ directory, findings }: Place, probe: Probe): boolean {
  let isFound = false;
  for (const folder of [directory, ...folders(directory)]) {
    for (const { name } of membersNamed(folder, /\.safetensors$|^(diffusion_)?pytorch_(model|lora_weights)\.bin$/)) {
      findings.mergeWithoutContent(probe.inspectFile(folder, name).findings);
      findings.content.add('weights', folder.pathOf(name));
      isFound = true;
    }
  }
  return isFound;
}
