import { printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import type { PickleValue } from '../encodings/pickle/value.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { checkAgreement } from './deepspeed-agreement.ts';
import { type DeepSpeedFacts, modelFacts, optimizerFacts } from './deepspeed-facts.ts';
import { checkExpertOptimizers, checkExperts, checkLayers, checkRanks } from './deepspeed-layout.ts';
import { type DeepSpeedKind, type DeepSpeedName, parseDeepSpeedName } from './deepspeed-names.ts';
import type { DirectoryFormat, Probe } from '../reading/format.ts';
import { inspectUniversal, parameterNames, universalFolder } from './deepspeed-universal.ts';
import { membersNamed } from '../reading/members.ts';
import { checkNamedStep } from '../reading/named-step.ts';
import type { Place } from '../reading/numbering.ts';
import { readObject } from '../torch/torch-member.ts';
import type { ScalarReader } from '../encodings/pickle/training-values.ts';

/**
 * One tag directory of DeepSpeed (`global_step500`), at any ZeRO stage, with experts and pipeline
 * layers.
 */
export const deepspeed: DirectoryFormat = {
  id: 'deepspeed',
  title: 'DeepSpeed checkpoint',
  claims(directory) {
    if (directory.entries.size === 0) return /^global_step\d+$/.test(directory.name);
    for (const entry of directory.entries.values()) if (parseDeepSpeedName(entry.name) !== null && entry.kind !== 'directory') return true;
    return false;
  },
  inspect,
};

function inspect(directory: Directory, findings: Findings, probe: Probe): void {
  const files: DeepSpeedName[] = [];
  for (const { name } of membersNamed(directory, /states\.pt$/)) {
    const parsed = parseDeepSpeedName(name);
    if (parsed !== null) files.push(parsed);
  }
  const zero = universalFolder(directory);
  const parameters = new Set<string>();
  const facts: DeepSpeedFacts[] = [];
  for (const file of files) {
    const { value, readScalar } = readObject(directory, file.name, findings, probe);
    if (zero !== null) for (const name of parameterNames(value)) parameters.add(name);
    const fact = factsOf(file, value, readScalar);
    noteContent(file, fact, directory.pathOf(file.name), findings);
    if (fact !== null) facts.push(fact);
  }
  if (zero !== null) inspectUniversal(zero, parameters, findings, probe);
  checkNamedStep(directory.name, TAG, findings);
  checkAgreement({ directory, findings }, facts);
  checkLayout({ directory, findings }, files, facts);
}

/** The tag that DeepSpeed itself gives carries the step. */
const TAG = /^global_step(\d+)$/;

/**
 * What a file says about its save; null for those that hold weights and nothing else, and for those
 * that cannot be read.
 */
function factsOf(file: DeepSpeedName, value: PickleValue | undefined, readScalar: ScalarReader): DeepSpeedFacts | null {
  if (value === undefined || file.kind === 'layer' || file.kind === 'expert') return null;
  return holdsOptimizer(file.kind) ? optimizerFacts(file, value, readScalar) : modelFacts(file, value, readScalar);
}

function noteContent(file: DeepSpeedName, facts: DeepSpeedFacts | null, path: string, { content }: Findings): void {
  if (facts === null) {
    content.add(holdsOptimizer(file.kind) ? 'optimizer' : 'weights', path);
    return;
  }
  if (facts.hasWeights) content.add('weights', path);
  if (facts.hasOptimizer) content.add('optimizer', path);
  if (facts.hasScheduler) content.add('scheduler', `${path}: lr_scheduler`);
  if (facts.hasRandomState) {
    content.add('rng', path);
    content.addRank(file.dp);
  }
  if (facts.globalStep !== null) content.addStep(facts.globalStep, path, `${printable(file.name)}: global_steps`);
}

function checkLayout(place: Place, files: readonly DeepSpeedName[], facts: readonly DeepSpeedFacts[]): void {
  const ofKind = (kind: DeepSpeedKind) => files.filter((file) => file.kind === kind);
  const model = first(facts, ({ modelWorld }) => modelWorld);
  const data = first(facts, ({ dataWorld }) => dataWorld);
  const partitions = first(facts, (fact) => fact.partitions) ?? data;
  if (model === null || data === null) {
    place.findings.add('DEEPSPEED_WORLD_UNKNOWN', { file: null }, 'no file of the tag says how many ranks wrote it');
  } else place.findings.content.worldSize = data * model;
  checkModelFiles(place, [...ofKind('model'), ...ofKind('model-partition')], { model, data: partitions });
  checkOptimizerFiles(place, ofKind('optimizer'), facts, { model, data: partitions });
  checkExperts(
    place,
    ofKind('expert'),
    model,
    first(facts, ({ experts }) => experts),
  );
  checkExpertOptimizers(place, ofKind('expert-optimizer'), model);
  checkPipeline(place, ofKind('layer'), facts);
}

function checkPipeline(place: Place, layers: readonly DeepSpeedName[], facts: readonly DeepSpeedFacts[]): void {
  const isPipeline = facts.some(({ name, hasWeights }) => !holdsOptimizer(name.kind) && !hasWeights);
  if (layers.length === 0 && isPipeline) {
    const file = place.directory.pathOf('layer_00-model_states.pt');
    place.findings.add('FILE_MISSING', { file }, 'the model states leave the weights to files of layers, and none of those is there');
    return;
  }
  checkLayers(place, layers, new Set(facts.flatMap((fact) => fact.layers)));
}

interface World {
  readonly model: number | null;
  readonly data: number | null;
}

function checkModelFiles(place: Place, files: readonly DeepSpeedName[], world: World): void {
  const partitioned = files.filter(({ kind }) => kind === 'model-partition');
  const whole = files.filter(({ kind }) => kind === 'model');
  if (partitioned.length > 0 && whole.length > 0) reportTwoLayouts(place, whole[0]?.name ?? '', partitioned[0]?.name ?? '');
  if (files.length === 0) {
    place.findings.add(
      'FILE_MISSING',
      { file: place.directory.pathOf('mp_rank_00_model_states.pt') },
      'no file with model states is there',
    );
  }
  checkRanks(place, partitioned, world);
  checkRanks(place, whole, { model: world.model, data: 1 });
}

function checkOptimizerFiles(place: Place, files: readonly DeepSpeedName[], facts: readonly DeepSpeedFacts[], world: World): void {
  const precisions = new Map(files.map((file) => [file.precision, file.name]));
  const [one, other] = precisions.values();
  if (one !== undefined && other !== undefined) reportTwoLayouts(place, one, other);
  const isExpected = facts.some(({ isPartitioned, stage }) => isPartitioned && (stage === null || stage > 0));
  if (files.length === 0 && isExpected && universalFolder(place.directory) === null) {
    const file = place.directory.pathOf('zero_pp_rank_0_mp_rank_00_optim_states.pt');
    const count = (world.model ?? 1) * (world.data ?? 1);
    place.findings.add(
      'FILE_MISSING',
      { file, expected: String(count), found: '0' },
      `all ${count} files of the optimizer state are missing`,
    );
  }
  for (const precision of precisions.keys()) {
    checkRanks(
      place,
      files.filter((file) => file.precision === precision),
      world,
    );
  }
}

function reportTwoLayouts({ directory, findings }: Place, one: string, other: string): void {
  const message = `${printable(one)} and ${printable(other)} are the same state saved under two configurations`;
  findings.add('DEEPSPEED_TWO_LAYOUTS', { file: directory.pathOf(other) }, message);
}

function holdsOptimizer(kind: DeepSpeedKind): boolean {
  return kind === 'optimizer' || kind === 'expert-optimizer';
}

/** The first fact of its kind that any file states. */
function first<T>(facts: readonly DeepSpeedFacts[], pick: (facts: DeepSpeedFacts) => T | null): T | null {
  for (const fact of facts) {
    const value = pick(fact);
    if (value !== null) return value;
  }
  return null;
}
