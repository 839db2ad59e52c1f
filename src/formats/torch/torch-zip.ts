import { describeTorchContent } from './torch-content.ts';
import { isTorchZip } from './zip.ts';
import type { FileFormat } from '../reading/format.ts';
import { readTorchObject } from './read-torch-object.ts';

/** The reader of `torch.save` files in the zip format. */
export const torchZip: FileFormat = {
  id: 'torch-zip',
  title: 'PyTorch file (zip)',
  extensions: ['.pt', '.pth', '.bin', '.ckpt'],
  recognise: isTorchZip,
  inspect(source, findings) {
    const object = readTorchObject(source, findings);
    if (object === null) return;
    if (object.container !== 'script') return describeTorchContent(object, findings);
    findings.add('TORCH_SCRIPT', { file: source.file }, 'the file is a TorchScript program: weights with the code of their model');
    if (object.storages.size > 0) findings.content.add('weights', source.file);
  },
};
