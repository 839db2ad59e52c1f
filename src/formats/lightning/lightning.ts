import type { Findings } from '../reading/findings.ts';
import { asInt, asString, dictGet, type PickleValue } from '../encodings/pickle/value.ts';
import { isTorchLegacy } from '../torch/legacy.ts';
import { isTorchZip } from '../torch/zip.ts';
import type { FileFormat } from '../reading/format.ts';
import { checkNamedStep } from '../reading/named-step.ts';
import { readTorchObject } from '../torch/read-torch-object.ts';
import { holdsState } from '../encodings/pickle/training-values.ts';

/** Lightning's own key, always among the first three of the dictionary it saves. */
const VERSION = 'pytorch-lightning_version';

/** ModelCheckpoint writes the step into a name as `step=100`. */
export const STEP_IN_NAME = /(?:^|[-_])step=(\d+)/;

/**
 * A `.ckpt` of Lightning: a torch file whose dictionary names the version of Lightning that wrote
 * it.
 */
export const lightning: FileFormat = {
  id: 'lightning',
  title: 'Lightning checkpoint',
  extensions: ['.ckpt'],
  recognise: (head, source) => head.includes(VERSION) && (isTorchLegacy(head) || isTorchZip(head, source)),
  inspect(source, findings) {
    const object = readTorchObject(source, findings);
    if (object === null || object.value === undefined) return;
    if (holdsState(dictGet(object.value, 'state_dict'))) findings.content.add('weights', `${source.file}: state_dict`);
    if (holdsState(dictGet(object.value, 'optimizer_states'))) findings.content.add('optimizer', `${source.file}: optimizer_states`);
    noteProgress(object.value, source.file, findings);
    checkNamedStep(source.file.split('/').at(-1) ?? '', STEP_IN_NAME, findings);
  },
};

/**
 * What Lightning keeps beside weights and optimizers, in the file itself or in `meta.pt` of a
 * sharded checkpoint.
 */
export function noteProgress(value: PickleValue, file: string, findings: Findings): void {
  const { content } = findings;
  if (holdsState(dictGet(value, 'lr_schedulers'))) content.add('scheduler', `${file}: lr_schedulers`);
  const step = asInt(dictGet(value, 'global_step'));
  if (step !== null) content.addStep(step, file, `${file}: global_step`);
  if (content.found.optimizer.length > 0 && dictGet(value, 'loops') === undefined && asString(dictGet(value, VERSION)) !== null) {
    findings.add(
      'LIGHTNING_NO_LOOPS',
      { file, expected: 'loops' },
      'the progress of the loops is not in it, so the current epoch would start anew',
    );
  }
}
