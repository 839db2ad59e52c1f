import { excerpt, printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { asInt, attribute } from '../encodings/pickle/value.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { readTrackers, reportTracker } from '../reading/trackers.ts';
import { readDocument } from '../reading/document.ts';
import type { DirectoryFormat, Probe } from '../reading/format.ts';
import { folders, membersNamed } from '../reading/members.ts';
import type { Place } from '../reading/numbering.ts';
import { readObject } from '../torch/torch-member.ts';
import { inspectRandomStates } from './trainer-rng.ts';
import { checkCounters } from './trainer-steps.ts';
import { inspectFolder, inspectWeights, isWeightsName, requireFile } from './trainer-weights.ts';
import { optimizerStep, schedulerStep } from '../encodings/pickle/training-values.ts';

const STATE = 'trainer_state.json';
const MARKER = 'checkpoint-is-incomplete.txt';

/** Files that only the Trainer writes. */
const OWN =
  /^(trainer_state\.json|checkpoint-is-incomplete\.txt|optimizer\.pt|scheduler\.pt|rng_state(_\d+)?\.pth|rank\d+-of-\d+-optimizer\.pt)$/;

/** Small documents that a resuming trainer reads. */
const DOCUMENTS = ['config.json', 'generation_config.json', 'adapter_config.json'];

/**
 * `checkpoint-N` of the Hugging Face Trainer, with any of its ways to save weights and optimizer.
 */
export const hfTrainer: DirectoryFormat = { id: 'hf-trainer', title: 'Hugging Face Trainer checkpoint', claims, inspect };

function claims(directory: Directory): boolean {
  if (directory.has(STATE) || directory.has(MARKER)) return !isOutputFolder(directory);
  if (membersNamed(directory, /^random_states_\d+\.pkl$/).length > 0) return false;
  if (membersNamed(directory, OWN).length > 0) return true;
  if (!/^checkpoint-\d+$/.test(directory.name)) return false;
  if (directory.entries.size === 0 || directory.has('training_args.bin')) return true;
  for (const name of directory.entries.keys()) if (isWeightsName(name)) return true;
  return false;
}

/**
 * The run's own folder can hold a final model and state beside the checkpoints, which are what
 * counts.
 */
function isOutputFolder(directory: Directory): boolean {
  return folders(directory).some(({ name }) => /^checkpoint-\d+$/.test(name));
}

function inspect(directory: Directory, findings: Findings, probe: Probe): void {
  const place = { directory, findings };
  if (directory.has(MARKER)) {
    const file = directory.pathOf(MARKER);
    findings.add('INCOMPLETE_MARKER', { file }, `${MARKER} exists: the save started and did not finish`);
  }
  const step = inspectState(place);
  const processes = inspectTrainingArguments(place, probe);
  for (const name of DOCUMENTS) if (directory.has(name)) readDocument(directory, name, findings);
  const isDeepSpeed = inspectDeepSpeed(place, probe);
  findings.content.worldSize ??= processes;
  const hasWeights = inspectWeights(directory, findings, probe);
  if (!hasWeights && !isDeepSpeed)
    findings.add('TRAINER_NO_WEIGHTS', { file: null }, 'no weights are there, under any name the trainer uses');
  const schedule = inspectScheduler(place, probe);
  const updates = inspectOptimizer(place, probe, schedule ?? step);
  const hasRandomState = inspectRandomStates(place, processes ?? findings.content.worldSize, probe);
  if (directory.has('scaler.pt')) readObject(directory, 'scaler.pt', findings, probe);
  checkParts(place, { isDeepSpeed, hasRandomState });
  if (!isDeepSpeed) checkCounters(place, { step, schedule, updates });
}

/** `trainer_state.json` is written last by rank 0. Its step is the directory's number. */
function inspectState(place: Place): number | null {
  const { directory, findings } = place;
  requireFile(place, STATE, 'it is written last, so the save did not finish');
  const document = directory.has(STATE) ? readDocument(directory, STATE, findings) : null;
  if (document === null) return null;
  const file = directory.pathOf(STATE);
  const step = document['global_step'];
  if (typeof step !== 'number' || !Number.isSafeInteger(step) || step < 0) {
    const found = excerpt(JSON.stringify(step) ?? 'nothing');
    findings.add('DOCUMENT_INVALID', { file, expected: 'a whole number', found }, `global_step in ${STATE} is ${found}, not a step`);
    return null;
  }
  findings.content.addStep(step, file, `${STATE}: global_step`);
  const named = /^checkpoint-(\d+)$/.exec(directory.name)?.[1];
  if (named !== undefined && Number(named) !== step) {
    const message = `the directory is named ${printable(directory.name)}, but ${STATE} says step ${step}`;
    findings.add('STEP_NOT_AS_NAMED', { file, expected: named, found: String(step) }, message);
  }
  return step;
}

/** `training_args.bin` also tells how many processes there were. */
function inspectTrainingArguments({ directory, findings }: Place, probe: Probe): number | null {
  if (!directory.has('training_args.bin')) return null;
  const { value } = readObject(directory, 'training_args.bin', findings, probe);
  const world = asInt(attribute(attribute(value, 'distributed_state'), 'num_processes'));
  return world !== null && world > 0 ? world : null;
}

/** With DeepSpeed everything lies in a tag directory that `latest` names. */
function inspectDeepSpeed({ directory, findings }: Place, probe: Probe): boolean {
  for (const tracker of readTrackers(directory)) reportTracker(tracker, findings);
  let isFound = directory.has('latest');
  for (const folder of folders(directory)) {
    if (!/^global_step\d+$/.test(folder.name)) continue;
    const member = probe.inspectDirectory(folder);
    if (member !== null) findings.merge(member.findings);
    isFound = true;
  }
  return isFound;
}

function inspectScheduler({ directory, findings }: Place, probe: Probe): number | null {
  if (!directory.has('scheduler.pt')) return null;
  findings.content.add('scheduler', directory.pathOf('scheduler.pt'));
  return schedulerStep(readObject(directory, 'scheduler.pt', findings, probe).value);
}

/**
 * One file, one for each rank (XLA), or a folder (FSDP). Returns the updates the optimizer counted.
 */
function inspectOptimizer({ directory, findings }: Place, probe: Probe, expected: number | null): number | null {
  let updates: number | null = null;
  for (const { name } of membersNamed(directory, /^(rank\d+-of-\d+-)?optimizer(_\d+)?(_rank\d+)?\.(pt|bin)$/)) {
    const { value, readScalar } = readObject(directory, name, findings, probe);
    updates ??= optimizerStep(value, readScalar, expected ?? undefined);
    findings.content.add('optimizer', directory.pathOf(name));
  }
  for (const folder of folders(directory)) if (/^optimizer_\d+$/.test(folder.name)) inspectFolder(folder, 'optimizer', findings, probe);
  return updates;
}

/** What is saved together must be there together: nothing of it (weights alone), or all of it. */
function checkParts(place: Place, { isDeepSpeed, hasRandomState }: { isDeepSpeed: boolean; hasRandomState: boolean }): void {
  const { optimizer, scheduler } = place.findings.content.found;
  if (isDeepSpeed || optimizer.length + scheduler.length + (hasRandomState ? 1 : 0) === 0) return;
  const reason = 'other files of the training state are there';
  if (optimizer.length === 0) requireFile(place, 'optimizer.pt', reason);
  if (scheduler.length === 0) requireFile(place, 'scheduler.pt', reason);
}
