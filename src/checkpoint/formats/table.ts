import { accelerate } from './accelerate.ts';
import { composer } from './composer.ts';
import { deepspeed } from './deepspeed.ts';
import { hfTrainer } from './hf-trainer.ts';
import { lightning } from './lightning.ts';
import { lightningSharded } from './lightning-sharded.ts';
import { dcp } from './dcp.ts';
import type { DirectoryFormat, FileFormat, FileSetFormat } from './format.ts';
import { megatronDist } from './megatron-dist.ts';
import { megatronLegacy } from './megatron-legacy.ts';
import { nvrxLocal } from './nvrx-local.ts';
import { torchsnapshot } from './torchsnapshot.ts';
import { orbax } from './orbax.ts';
import { safetensors } from './safetensors.ts';
import { keras } from './keras.ts';
import { kerasBackup } from './keras-backup.ts';
import { kerasSharded } from './keras-sharded.ts';
import { npy } from './npy.ts';
import { npz } from './npz.ts';
import { torchLegacy } from './torch-legacy.ts';
import { torchZip } from './torch-zip.ts';
import { safetensorsSharded } from './safetensors-sharded.ts';
import { tensorflow } from './tensorflow.ts';
import { gguf } from './gguf.ts';
import { flaxMsgpack } from './flax-msgpack.ts';
import { hdf5 } from './hdf5.ts';

/**
 * Every format Holdfast reads. A new one is one file beside this and one line here. The order matters where one format contains
 * another: the more specific stands first (a Lightning file is also a torch zip, a Megatron directory also holds a DCP one).
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

export const FILE_SET_FORMATS: readonly FileSetFormat[] = [composer, safetensorsSharded, nvrxLocal, tensorflow, kerasSharded];
