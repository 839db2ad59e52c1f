import { accelerate } from './huggingface/accelerate.ts';
import { composer } from './composer/composer.ts';
import { deepspeed } from './deepspeed/deepspeed.ts';
import { hfTrainer } from './huggingface/hf-trainer.ts';
import { lightning } from './lightning/lightning.ts';
import { lightningSharded } from './lightning/lightning-sharded.ts';
import { dcp } from './dcp/dcp.ts';
import type { DirectoryFormat, FileFormat, FileSetFormat } from './reading/format.ts';
import { megatronDist } from './megatron/megatron-dist.ts';
import { megatronLegacy } from './megatron/megatron-legacy.ts';
import { nvrxLocal } from './megatron/nvrx-local.ts';
import { torchsnapshot } from './torchsnapshot/torchsnapshot.ts';
import { orbax } from './orbax/orbax.ts';
import { safetensors } from './safetensors/safetensors.ts';
import { keras } from './keras/keras.ts';
import { kerasBackup } from './keras/keras-backup.ts';
import { kerasSharded } from './keras/keras-sharded.ts';
import { npy } from './numpy/npy.ts';
import { npz } from './numpy/npz.ts';
import { torchLegacy } from './torch/torch-legacy.ts';
import { torchZip } from './torch/torch-zip.ts';
import { safetensorsSharded } from './safetensors/safetensors-sharded.ts';
import { tensorflow } from './tensorflow/tensorflow.ts';
import { gguf } from './gguf/gguf.ts';
import { flaxMsgpack } from './flax/flax-msgpack.ts';
import { hdf5 } from './hdf5/hdf5.ts';

/**
 * Every format Holdfast reads. A new format is one file beside this one and one line here. The
 * order matters where one format contains another: the more specific format comes first. For
 * example, a Lightning file is also a torch zip, and a Megatron directory also holds a DCP one.
 */
export const FILE_FORMATS: readonly FileFormat[] = [
  lightning,
  torchZip,
  torchLegacy,
  keras,
  npz,
  npy,
  safetensors,
  gguf,
  flaxMsgpack,
  hdf5,
];

/** The formats that are recognised as a directory. */
export const DIRECTORY_FORMATS: readonly DirectoryFormat[] = [
  hfTrainer,
  accelerate,
  deepspeed,
  lightningSharded,
  megatronDist,
  megatronLegacy,
  torchsnapshot,
  dcp,
  orbax,
  kerasBackup,
];

/** The formats that are recognised as a set of files. */
export const FILE_SET_FORMATS: readonly FileSetFormat[] = [composer, safetensorsSharded, nvrxLocal, tensorflow, kerasSharded];
