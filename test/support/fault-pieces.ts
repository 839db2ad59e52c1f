import type { Subject } from './faults.ts';

/** The files of a checkpoint by their role, from the framework's documentation and source. */
export interface Pieces {
  /** Files without which the save is incomplete. */
  readonly shards: readonly string[];
  /** Small files that describe the others or mark the save as finished. */
  readonly markers: readonly string[];
  /** Files of the run that name its newest checkpoint. */
  readonly trackers: readonly string[];
  /** A file, and the name it would have had from a rank beyond this world size. */
  readonly leftoverRanks: readonly (readonly [file: string, name: string])[];
}

interface PieceNames {
  readonly shards?: RegExp;
  readonly markers?: RegExp;
  readonly trackers?: RegExp;
  readonly leftover?: readonly [file: RegExp, name: string];
}

const DISTCP = /\.distcp$/;

const PIECES: Readonly<Record<string, PieceNames>> = {
  dcp: { shards: DISTCP, markers: /\/\.metadata$/, leftover: [/__0_0\.distcp$/, '__9_0.distcp'] },
  'lightning-sharded': {
    shards: /\.distcp$|\/meta\.pt$/,
    markers: /\/(\.metadata|meta\.pt)$/,
    leftover: [/__0_0\.distcp$/, '__9_0.distcp'],
  },
  'megatron-dist': {
    shards: /\.distcp$|\/common\.pt$/,
    markers: /\/(\.metadata|metadata\.json|common\.pt|integrity\.json)$/,
    trackers: /latest_checkpointed_iteration\.txt$/,
    leftover: [/__0_0\.distcp$/, '__9_0.distcp'],
  },
  'megatron-legacy': { shards: /model_optim_rng\.pt$/, trackers: /latest_checkpointed_iteration\.txt$/ },
  deepspeed: {
    shards: /_states\.pt$/,
    trackers: /\/latest$/,
    leftover: [/zero_pp_rank_1_mp_rank_00_optim_states\.pt$/, 'zero_pp_rank_2_mp_rank_00_optim_states.pt'],
  },
  'hf-trainer': {
    shards: /(model.*\.safetensors|\/optimizer\.pt)$/,
    markers: /(\/trainer_state\.json|\.index\.json)$/,
    leftover: [/rng_state\.pth$/, 'rng_state_1.pth'],
  },
  accelerate: {
    shards: /\/(model\.safetensors|pytorch_model\.bin|optimizer\.bin)$/,
    leftover: [/random_states_0\.pkl$/, 'random_states_1.pkl'],
  },
  'safetensors-sharded': {
    shards: /\.safetensors$/,
    markers: /\.index\.json$/,
    leftover: [/-00002-of-00002\.safetensors$/, 'model-00003-of-00003.safetensors'],
  },
  tensorflow: {
    shards: /\.data-\d+-of-\d+$/,
    markers: /\.index$/,
    trackers: /\/checkpoint$/,
    leftover: [/\.data-00001-of-00002$/, 'model.ckpt-100.data-00002-of-00003'],
  },
  orbax: { markers: /\/(_CHECKPOINT_METADATA|_METADATA|manifest\.ocdbt|\.zarray|zarr\.json)$/ },
  torchsnapshot: { shards: /\/(batched|replicated|0|1)\/.+$/, markers: /\.snapshot_metadata$/ },
  keras: { shards: /_0000\d\.weights\.h5$|\/latest\.weights\.h5$/, markers: /(\.weights|training_metadata)\.json$/ },
};

/** At most this many of one kind, because more files of a kind show nothing new. */
const MAX_OF_A_KIND = 3;

export function piecesOf({ fixture, files, places }: Subject): Pieces {
  const names = PIECES[fixture.format] ?? {};
  const newest = newestOf(fixture.id);
  const matching = (pattern: RegExp | undefined): readonly string[] =>
    spread(pattern === undefined ? [] : [...files.keys()].filter((file) => pattern.test(file) && newest.test(file)));
  const [leftover, name = ''] = names.leftover ?? [];
  return {
    // Content-addressed files and chunks have no telling names, so take those in which the loader
    // finds values.
    shards: fixture.format === 'orbax' ? spread(places.map(({ file }) => file)) : matching(names.shards),
    markers: matching(names.markers),
    trackers: names.trackers === undefined ? [] : [...files.keys()].filter((file) => names.trackers?.test(file)),
    leftoverRanks: matching(leftover).map((file) => [file, name] as const),
  };
}

/**
 * In the folder of a run, the damaged checkpoint is the one that the framework would resume from.
 */
function newestOf(id: string): RegExp {
  const newest: Readonly<Record<string, RegExp>> = {
    'hf-trainer-run': /\/checkpoint-6\//,
    'orbax-manager': /\/run\/300\//,
    'tf-manager': /\/ckpt-300\./,
    composer: /-ba4-/,
  };
  return newest[id] ?? /^/;
}

/** The first, the last, and some in between. */
export function spread<T>(items: readonly T[]): readonly T[] {
  if (items.length <= MAX_OF_A_KIND) return items;
  const step = (items.length - 1) / (MAX_OF_A_KIND - 1);
  return items.filter((_, index) => Math.floor(Math.ceil(index / step) * step) === index);
}
