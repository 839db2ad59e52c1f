import type { EvidenceKind } from '../evidence.ts';

/** What can be wrong with a `.keras` archive. */
export const KERAS_CODES = {
  KERAS_MEMBER_MISSING: {
    effect: 'partial',
    title: 'A part of the Keras archive is missing',
    explain:
      'A `.keras` file is a zip archive with `config.json`, which describes the model, and `model.weights.h5` or `model.weights.npz`. One of them is not there, so Keras cannot load it. The archive was repacked or put together by hand.',
  },
  KERAS_METADATA_MISSING: {
    effect: 'warning',
    title: 'The Keras archive does not say who wrote it',
    explain:
      'Keras writes `metadata.json` with its version into every archive. It is missing here; the load does not need it, but no writer leaves it out.',
  },
  KERAS_SHARD_UNUSED: {
    effect: 'warning',
    title: 'A weights file that the index does not name',
    explain:
      'Beside the shards that the index of the weights names lies one more of the same save name. An earlier save had more shards. Keras does not load it.',
  },
  KERAS_LAMBDA: {
    effect: 'security',
    title: 'The model carries code of its own',
    explain:
      'The configuration of the model contains a Lambda layer with compiled Python code. Keras refuses to load it in its safe mode, because the code would run. Load it with `safe_mode=False` only if you trust where it comes from.',
  },
  KERAS_NOT_INSPECTED: {
    effect: 'note',
    title: 'The weights in the archive were not looked into',
    explain:
      'The weights are compressed and too large to be unpacked in memory for a look, so what they hold is not listed. Their checksum is still compared by `--deep`.',
  },
} as const satisfies Record<string, EvidenceKind>;
