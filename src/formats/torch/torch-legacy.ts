import { printable } from '../../core/printable.ts';
import { describeTorchContent } from './torch-content.ts';
import { isTorchLegacy } from './legacy.ts';
import { isTorchTar } from './tar.ts';
import type { FileFormat } from '../reading/format.ts';
import { readTorchObject } from './read-torch-object.ts';

/** The reader of `torch.save` files in the format before zip. */
export const torchLegacy: FileFormat = {
  id: 'torch-legacy',
  title: 'PyTorch file (before 1.6)',
  extensions: ['.pth', '.tar'],
  recognise: (head, source) => isTorchLegacy(head) || isTorchTar(head, source),
  inspect(source, findings) {
    if (isTorchTar(source.read(0, 512), source)) {
      const message = `${printable(source.file)} is a tar archive as PyTorch wrote them in 2016, which Holdfast does not read`;
      findings.add('TORCH_TAR', { file: source.file }, message);
      return;
    }
    const object = readTorchObject(source, findings);
    if (object !== null) describeTorchContent(object, findings);
  },
};
