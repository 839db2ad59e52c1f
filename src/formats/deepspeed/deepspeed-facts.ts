import { needOfKey } from '../reading/content-names.ts';
import { asInt, asItems, asString, dictEntries, dictGet, dictPath, type PickleValue } from '../encodings/pickle/value.ts';
import type { DeepSpeedName } from './deepspeed-names.ts';
import { enumNumber, holdsState, optimizerStep, type ScalarReader } from '../encodings/pickle/training-values.ts';

/**
 * What one file of a tag directory says about the save it belongs to; null where it says nothing.
 */
export interface DeepSpeedFacts {
  readonly name: DeepSpeedName;
  readonly globalStep: number | null;
  /** Steps in which loss scaling found an overflow and the optimizer made no update. */
  readonly skippedSteps: number | null;
  readonly dataWorld: number | null;
  readonly modelWorld: number | null;
  readonly stage: number | null;
  /** In how many parts the optimizer state is split: the files per model-parallel rank. */
  readonly partitions: number | null;
  readonly version: string | null;
  /** Updates the optimizer has made. */
  readonly optimizerStep: number | null;
  /** Pipelines keep their weights in files of layers instead. */
  readonly hasWeights: boolean;
  readonly hasOptimizer: boolean;
  readonly hasScheduler: boolean;
  readonly hasRandomState: boolean;
  /** It says that the optimizer state lies in files of its own. */
  readonly isPartitioned: boolean;
  /** MiCS splits the state over fewer ranks than there are. */
  readonly isSplitOverSubgroups: boolean;
  /** Experts of each mixture-of-experts layer. */
  readonly experts: readonly number[] | null;
  /** Pipeline layers that hold parameters of this rank. */
  readonly layers: readonly number[];
}

/**
 * Keys of the engine's own; what else is there, the user put there. `random_ltd` is no random
 * state.
 */
const ENGINE_KEYS = new Set(['random_ltd', 'data_sampler', 'module', 'optimizer', 'lr_scheduler']);

/** The facts in a model file: its steps and its parameters. */
export function modelFacts(name: DeepSpeedName, value: PickleValue | undefined, readScalar: ScalarReader): DeepSpeedFacts {
  const stage = asInt(dictPath(value, 'ds_config', 'zero_optimization', 'stage'));
  const shapes = dictGet(value, 'param_shapes');
  return {
    name,
    globalStep: asInt(dictGet(value, 'global_steps')),
    skippedSteps: asInt(dictGet(value, 'skipped_steps')),
    dataWorld: positive(asInt(dictGet(value, 'dp_world_size'))),
    modelWorld: positive(asInt(dictGet(value, 'mp_world_size'))),
    stage,
    partitions: null,
    version: asString(dictGet(value, 'ds_version')),
    optimizerStep: optimizerStep(dictGet(value, 'optimizer'), readScalar),
    hasWeights: (dictGet(value, 'module') ?? null) !== null,
    hasOptimizer: holdsState(dictGet(value, 'optimizer')),
    hasScheduler: holdsState(dictGet(value, 'lr_scheduler')),
    hasRandomState: hasRandomState(value),
    isPartitioned: asItems(shapes) !== null,
    isSplitOverSubgroups: (asInt(dictPath(value, 'ds_config', 'zero_optimization', 'mics_shard_size')) ?? 0) > 0,
    experts: asItems(dictGet(value, 'num_experts'))?.map((count) => asInt(count) ?? 0) ?? null,
    layers: dictGet(value, 'module') === null ? layersOf(shapes) : [],
  };
}

/** The facts in an optimizer file. */
export function optimizerFacts(name: DeepSpeedName, value: PickleValue | undefined, readScalar: ScalarReader): DeepSpeedFacts {
  const state = dictGet(value, 'optimizer_state_dict') ?? dictGet(value, 'optimizer');
  const base = dictGet(state, 'base_optimizer_state') ?? dictGet(state, 'optimizer_state_dict') ?? state;
  return {
    name,
    globalStep: null,
    skippedSteps: null,
    dataWorld: null,
    modelWorld: null,
    stage: enumNumber(dictGet(state, 'zero_stage')),
    partitions: largestCount(dictGet(state, 'partition_count')),
    version: asString(dictGet(value, 'ds_version')),
    optimizerStep: asInt(dictGet(state, 'base_optimizer_state_step')) ?? optimizerStep(base, readScalar),
    hasWeights: false,
    hasOptimizer: holdsState(state),
    hasScheduler: false,
    hasRandomState: false,
    isPartitioned: false,
    isSplitOverSubgroups: false,
    experts: null,
    layers: [],
  };
}

function positive(value: number | null): number | null {
  return value !== null && value > 0 ? value : null;
}

/** One number, or one for each parameter group: groups of experts are split over fewer ranks. */
function largestCount(value: PickleValue | undefined): number | null {
  const counts = (asItems(value) ?? [value]).map((count) => asInt(count) ?? 0);
  return positive(counts.reduce((largest, count) => Math.max(largest, count), 0));
}

function hasRandomState(value: PickleValue | undefined): boolean {
  for (const [key] of dictEntries(value)) if (!ENGINE_KEYS.has(key) && needOfKey(key) === 'rng') return true;
  return false;
}

/** A pipeline names each parameter after its layer: `12.attention.weight`. */
function layersOf(shapes: PickleValue | undefined): readonly number[] {
  const layers = new Set<number>();
  // A pickle can name one dictionary a million times over.
  for (const group of new Set(asItems(shapes))) {
    for (const [name] of dictEntries(group)) {
      const layer = /^(\d{1,6})\./.exec(name)?.[1];
      if (layer !== undefined) layers.add(Number(layer));
    }
  }
  return [...layers];
}
