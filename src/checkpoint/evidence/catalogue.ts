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
import type { EvidenceKind } from './evidence.ts';

/** Every evidence code there is. A code, once released, never changes its meaning. */
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

export type EvidenceCode = keyof typeof EVIDENCE_CODES;
