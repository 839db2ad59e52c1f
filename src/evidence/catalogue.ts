import { COMPOSER_CODES } from './codes/composer.ts';
import { DCP_CODES } from './codes/dcp.ts';
import { DEEPSPEED_CODES } from './codes/deepspeed.ts';
import { FILE_CODES } from './codes/file.ts';
import { GGUF_CODES } from './codes/gguf.ts';
import { HDF5_CODES } from './codes/hdf5.ts';
import { HUGGINGFACE_CODES } from './codes/huggingface.ts';
import { KERAS_CODES } from './codes/keras.ts';
import { LIGHTNING_CODES } from './codes/lightning.ts';
import { MANIFEST_CODES } from './codes/manifest.ts';
import { MEGATRON_CODES } from './codes/megatron.ts';
import { MSGPACK_CODES } from './codes/msgpack.ts';
import { NUMPY_CODES } from './codes/numpy.ts';
import { ORBAX_CODES } from './codes/orbax.ts';
import { PICKLE_CODES } from './codes/pickle.ts';
import { RUN_CODES } from './codes/run.ts';
import { SAFETENSORS_CODES } from './codes/safetensors.ts';
import { TENSORFLOW_CODES } from './codes/tensorflow.ts';
import { TORCH_CODES } from './codes/torch.ts';
import { TORCHSNAPSHOT_CODES } from './codes/torchsnapshot.ts';
import { ZIP_CODES } from './codes/zip.ts';
import type { Effect, EvidenceKind } from './codes/kind.ts';

/** Every evidence code. A released code never changes its meaning. */
export const EVIDENCE_CODES = {
  ...FILE_CODES,
  ...RUN_CODES,
  ...MANIFEST_CODES,
  ...ZIP_CODES,
  ...PICKLE_CODES,
  ...TORCH_CODES,
  ...SAFETENSORS_CODES,
  ...DCP_CODES,
  ...MEGATRON_CODES,
  ...DEEPSPEED_CODES,
  ...HUGGINGFACE_CODES,
  ...LIGHTNING_CODES,
  ...COMPOSER_CODES,
  ...TORCHSNAPSHOT_CODES,
  ...ORBAX_CODES,
  ...HDF5_CODES,
  ...KERAS_CODES,
  ...NUMPY_CODES,
  ...GGUF_CODES,
  ...TENSORFLOW_CODES,
  ...MSGPACK_CODES,
} as const satisfies Record<string, EvidenceKind>;

/** A code in {@link EVIDENCE_CODES}. */
export type EvidenceCode = keyof typeof EVIDENCE_CODES;

/** A family of codes, and the readers that report them. */
interface EvidenceSource {
  /** The subject of the family, for people. */
  readonly about: string;
  /** The folders of these readers, below `src`; none when every reader reports the codes. */
  readonly readers: readonly string[];
  readonly codes: Readonly<Record<string, EvidenceKind>>;
}

/** Maps each code to the format that reports it. */
export const EVIDENCE_SOURCES: readonly EvidenceSource[] = [
  { about: 'Any format', readers: [], codes: FILE_CODES },
  { about: 'The folder of a run', readers: ['formats/reading'], codes: RUN_CODES },
  { about: 'Sealed checkpoints', readers: ['verify'], codes: MANIFEST_CODES },
  { about: 'Zip archives', readers: ['formats/encodings/zip'], codes: ZIP_CODES },
  { about: 'Pickles', readers: ['formats/encodings/pickle', 'formats/dcp'], codes: PICKLE_CODES },
  { about: 'PyTorch', readers: ['formats/torch'], codes: TORCH_CODES },
  { about: 'safetensors', readers: ['formats/safetensors'], codes: SAFETENSORS_CODES },
  { about: 'PyTorch distributed checkpoints', readers: ['formats/dcp'], codes: DCP_CODES },
  { about: 'Megatron', readers: ['formats/megatron'], codes: MEGATRON_CODES },
  { about: 'DeepSpeed', readers: ['formats/deepspeed'], codes: DEEPSPEED_CODES },
  { about: 'Hugging Face Trainer', readers: ['formats/huggingface'], codes: HUGGINGFACE_CODES },
  { about: 'Lightning', readers: ['formats/lightning'], codes: LIGHTNING_CODES },
  { about: 'Composer', readers: ['formats/composer'], codes: COMPOSER_CODES },
  { about: 'torchsnapshot', readers: ['formats/torchsnapshot'], codes: TORCHSNAPSHOT_CODES },
  { about: 'Orbax', readers: ['formats/orbax'], codes: ORBAX_CODES },
  { about: 'HDF5', readers: ['formats/hdf5', 'formats/encodings/hdf5'], codes: HDF5_CODES },
  { about: 'Keras', readers: ['formats/keras'], codes: KERAS_CODES },
  { about: 'NumPy', readers: ['formats/numpy'], codes: NUMPY_CODES },
  { about: 'GGUF', readers: ['formats/gguf'], codes: GGUF_CODES },
  { about: 'TensorFlow', readers: ['formats/tensorflow'], codes: TENSORFLOW_CODES },
  { about: 'MessagePack (Flax)', readers: ['formats/flax', 'formats/encodings/msgpack'], codes: MSGPACK_CODES },
];

/** The codes with this effect, grouped by subject; groups without one are left out. */
export function codesByEffect(effect: Effect): readonly { readonly about: string; readonly codes: readonly string[] }[] {
  return EVIDENCE_SOURCES.flatMap(({ about, codes }) => {
    const found = Object.entries(codes).flatMap(([code, kind]) => (kind.effect === effect ? [code] : []));
    return found.length === 0 ? [] : [{ about, codes: found }];
  });
}
