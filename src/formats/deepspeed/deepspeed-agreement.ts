import { excerpt, printable } from '../../core/printable.ts';
import type { DeepSpeedFacts } from './deepspeed-facts.ts';
import type { Place } from '../reading/numbering.ts';

/** What every file of one save states alike. */
const SHARED: readonly (readonly [string, (facts: DeepSpeedFacts) => string | number | null])[] = [
  ['dp_world_size', ({ dataWorld }) => dataWorld],
  ['mp_world_size', ({ modelWorld }) => modelWorld],
  ['the ZeRO stage', ({ stage }) => stage],
  ['partition_count', ({ partitions }) => partitions],
  ['ds_version', ({ version }) => version],
];

/** Compares what the files of one tag say about the save they belong to. */
export function checkAgreement(place: Place, facts: readonly DeepSpeedFacts[]): void {
  for (const [what, pick] of SHARED) reportDifference(place, facts, what, pick);
  checkPartitions(place, facts);
  checkOptimizerSteps(place, facts);
}

function reportDifference(
  { directory, findings }: Place,
  facts: readonly DeepSpeedFacts[],
  what: string,
  pick: (facts: DeepSpeedFacts) => string | number | null,
): void {
  const [reference, ...rest] = facts.filter((fact) => pick(fact) !== null);
  if (reference === undefined) return;
  const expected = excerpt(String(pick(reference)));
  for (const other of rest) {
    const found = excerpt(String(pick(other)));
    if (found === expected) continue;
    const message = `${printable(reference.name.name)} says that ${what} is ${expected}, ${printable(other.name.name)} says ${found}`;
    findings.add('DEEPSPEED_FILES_DISAGREE', { file: directory.pathOf(other.name.name), expected, found }, message);
  }
}

/** Optimizer state is split over all data-parallel ranks, or, with MiCS, over groups of them. */
function checkPartitions({ directory, findings }: Place, facts: readonly DeepSpeedFacts[]): void {
  const model = facts.find(({ dataWorld }) => dataWorld !== null);
  const optimizer = facts.find(({ partitions }) => partitions !== null);
  if (model === undefined || optimizer === undefined || model.dataWorld === optimizer.partitions) return;
  if (facts.some(({ isSplitOverSubgroups }) => isSplitOverSubgroups)) return;
  const message = `${printable(optimizer.name.name)} is one of ${optimizer.partitions} partitions, but ${printable(model.name.name)} was written by ${model.dataWorld} data-parallel ranks`;
  const counts = { expected: String(model.dataWorld), found: String(optimizer.partitions) };
  findings.add('DEEPSPEED_FILES_DISAGREE', { file: directory.pathOf(optimizer.name.name), ...counts }, message);
}

/**
 * All partitions make the same updates: one for each step of the engine that loss scaling did not
 * skip.
 */
function checkOptimizerSteps({ directory, findings }: Place, facts: readonly DeepSpeedFacts[]): void {
  const [reference, ...rest] = facts.filter(({ optimizerStep }) => optimizerStep !== null);
  if (reference === undefined) return;
  const name = printable(reference.name.name);
  const updates = reference.optimizerStep ?? 0;
  for (const other of rest) {
    if (other.optimizerStep === updates) continue;
    const where = { file: directory.pathOf(other.name.name), expected: String(updates), found: String(other.optimizerStep) };
    const message = `the optimizer in ${printable(other.name.name)} has made ${other.optimizerStep} updates, the one in ${name} ${updates}`;
    findings.add('STEP_MISMATCH', where, message);
  }
  const engine = facts.find(({ globalStep }) => globalStep !== null);
  if (engine === undefined) return;
  const steps = (engine.globalStep ?? 0) - (engine.skippedSteps ?? 0);
  if (updates === steps) return;
  const where = { file: directory.pathOf(reference.name.name), expected: String(steps), found: String(updates) };
  const message = `the optimizer in ${name} has made ${updates} updates, but ${printable(engine.name.name)} counts ${steps} steps that were not skipped`;
  findings.add(updates > steps ? 'STEP_MISMATCH' : 'DEEPSPEED_OPTIMIZER_BEHIND', where, message);
}
