import type { EvidenceKind } from './kind.ts';

/** Faults of a `.keras` archive. */
export const KERAS_CODES = {
  KERAS_MEMBER_MISSING: {
    effect: 'partial',
    title: 'A part of the Keras archive is missing',
    explain:
      'A `.keras` file is a zip archive with `config.json`, which describes the model, and `model.weights.h5` or `model.weights.npz`. One of them is missing, so Keras cannot load the archive. The archive was repacked or put together by hand.',
  },
  KERAS_METADATA_MISSING: {
    effect: 'warning',
    title: 'The Keras archive does not say who wrote it',
    explain:
      'Keras writes `metadata.json` with its version into every archive. It is missing here. The load does not need it, but no writer leaves it out.',
  },
  KERAS_SHARD_UNUSED: {
    effect: 'warning',
    title: 'A weights file that the index does not name',
    explain:
      'A weights file of the same save name exists that the index does not list. An earlier save had more shards. Keras does not load it.',
  },
  KERAS_LAMBDA: {
    effect: 'security',
    title: 'The model carries code of its own',
    explain:
      'The configuration of the model contains a Lambda layer with compiled Python code. Keras refuses to load it in its safe mode, because the code would run. Load it with `safe_mode=False` only if you trust its origin.',
  },
  KERAS_NOT_INSPECTED: {
    effect: 'note',
    title: 'The weights in the archive were not inspected',
    explain:
      'The weights are compressed and too large to be unpacked in memory, so their content is not listed. `--deep` still compares their checksum.',
  },
} as const satisfies Record<string, EvidenceKind>;
