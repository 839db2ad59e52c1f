/** What a file of a DeepSpeed tag directory holds, told by its name. */
export type DeepSpeedKind = 'model' | 'model-partition' | 'optimizer' | 'expert' | 'expert-optimizer' | 'layer';

/** The role and the ranks of a file, parsed from its name. */
export interface DeepSpeedName {
  readonly kind: DeepSpeedKind;
  readonly name: string;
  /** Model-parallel rank (tensor × pipeline); of a pipeline layer the tensor-parallel rank. */
  readonly mp: number;
  /** Data-parallel rank, where each rank writes its own file. */
  readonly dp: number;
  /**
   * Mixture of experts: the layer (null in files of old versions) and the expert or expert-parallel
   * rank.
   */
  readonly layer: number | null;
  readonly expert: number;
  /** `bf16_` or `fp16_`, for optimizer partitions. */
  readonly precision: string;
}

/**
 * The grammar of file names, as the engine and the pipeline module write them. Old versions left
 * out the underscore before `optim_states`.
 */
const GRAMMAR: readonly (readonly [DeepSpeedKind, RegExp])[] = [
  ['model', /^mp_rank_(?<mp>\d+)_model_states\.pt$/],
  ['model-partition', /^zero_pp_rank_(?<dp>\d+)_mp_rank_(?<mp>\d+)_model_states\.pt$/],
  ['optimizer', /^(?<precision>bf16_|fp16_)?zero_pp_rank_(?<dp>\d+)_mp_rank_(?<mp>\d+)_?optim_states\.pt$/],
  ['expert', /^(?:layer_(?<layer>\d+)_)?expert_(?<expert>\d+)_mp_rank_(?<mp>\d+)_model_states\.pt$/],
  ['expert-optimizer', /^expp_rank_(?<expert>\d+)_mp_rank_(?<mp>\d+)_optim_states\.pt$/],
  ['layer', /^layer_(?<layer>\d+)(?:-model_(?<mp>\d+))?-model_states\.pt$/],
];

/** Reads a name of the grammar; null for any other. */
export function parseDeepSpeedName(name: string): DeepSpeedName | null {
  if (!name.endsWith('_states.pt')) return null;
  for (const [kind, pattern] of GRAMMAR) {
    const groups = pattern.exec(name)?.groups;
    if (groups === undefined) continue;
    const number = (key: string) => Number(groups[key] ?? 0);
    const layer = groups['layer'] === undefined ? null : Number(groups['layer']);
    return { kind, name, mp: number('mp'), dp: number('dp'), layer, expert: number('expert'), precision: groups['precision'] ?? '' };
  }
  return null;
}

/** The name a file of the grammar should have; the counterpart of {@link parseDeepSpeedName}. */
export function deepSpeedName(file: Omit<DeepSpeedName, 'name'>): string {
  const mp = `mp_rank_${padded(file.mp)}`;
  switch (file.kind) {
    case 'model':
      return `${mp}_model_states.pt`;
    case 'model-partition':
      return `zero_pp_rank_${file.dp}_${mp}_model_states.pt`;
    case 'optimizer':
      return `${file.precision}zero_pp_rank_${file.dp}_${mp}_optim_states.pt`;
    case 'expert':
      return `${file.layer === null ? '' : `layer_${file.layer}_`}expert_${file.expert}_${mp}_model_states.pt`;
    case 'expert-optimizer':
      return `expp_rank_${file.expert}_${mp}_optim_states.pt`;
    case 'layer':
      return `layer_${padded(file.layer ?? 0)}-model_${padded(file.mp)}-model_states.pt`;
    default:
      return file.kind satisfies never;
  }
}

function padded(number: number): string {
  return String(number).padStart(2, '0');
}
