import { formatBytes } from '../../../core/bytes.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { printable } from '../../../core/printable.ts';
import { defineCommand } from '../../frame/command.ts';
import { someText, wholeNumber } from '../../frame/option-values.ts';
import type { ProgressUpdate } from '../../output/progress.ts';

/** The `seal` command. */
export const seal = defineCommand({
  description:
    'Seals a finished checkpoint of any tool. It reads every byte and compares it with the checksums that the format stores. It records a checksum of every part in a small manifest, and syncs everything. From then on the checkpoint counts: the good one with the highest step is the last good one. The files themselves do not change. With several paths, it seals every one that it can.',
  operand: {
    name: 'PATH',
    description: 'A checkpoint directory, a checkpoint file, or the common prefix of the files of a TensorFlow checkpoint',
    count: 'many',
    complete: 'paths',
  },
  options: {
    run: {
      kind: 'value',
      value: 'FOLDER',
      parse: someText('the folder of a run'),
      description:
        'The folder of the run; by default the folder that holds the checkpoint. A checkpoint from elsewhere on the same volume is moved there',
    },
    step: {
      kind: 'value',
      value: 'STEP',
      parse: wholeNumber('a step', 0),
      description: 'The step, if neither the files nor the name contain it',
    },
    accept: {
      kind: 'choice',
      choices: ['resumable', 'weights', 'anything'],
      default: 'resumable',
      description:
        'What is good enough: resumable (a run can resume from it), weights (also without training state), or anything (also formats that Holdfast does not know)',
    },
    attempt: {
      kind: 'value',
      value: 'NUMBER',
      parse: wholeNumber('an attempt', 0),
      description:
        'Refuse if this is no longer the newest attempt of the run. By default the checkpoint is sealed for the newest attempt, and ranks behind a last good one with a higher step',
    },
    'world-size': {
      kind: 'value',
      value: 'RANKS',
      parse: wholeNumber('a world size', 1),
      description: 'How many ranks wrote it, if the checkpoint does not say',
    },
  },
  examples: [
    { line: 'seal runs/gpt2/checkpoint-500', description: 'Verify it and record its checksums, so that a run can resume from it' },
    { line: 'seal --run runs/gpt2 /tmp/export/step-500', description: 'Seal it and move it into the folder of the run' },
    { line: 'seal --accept=weights exports/model.safetensors', description: 'Seal a model without training state' },
  ],

  async run({ values, operands, output, clock, signal }): Promise<ExitCode> {
    const { sealPaths, whyNotAll } = await import('./seal-path.ts');
    const onProgress = (progress: ProgressUpdate): void => output.progress.update(progress);
    const result = await sealPaths(operands, {
      ...values,
      clock,
      signal,
      onProgress,
      onSealed(one) {
        if (output.json) return;
        const { style } = output;
        if (output.quiet) output.print(one.path);
        else {
          const facts = `step ${one.step} · attempt ${one.attempt} · ${one.files} ${one.files === 1 ? 'file' : 'files'} · ${formatBytes(one.bytes)}`;
          const label = one.wasSealed ? 'STILL SEALED' : 'SEALED';
          output.print(`${style.green(label)}  ${style.bold(printable(one.path))}`, style.dim(`  ${facts} · ${printable(one.manifest)}`));
        }
        for (const warning of one.warnings) output.note(`warning: ${warning}`);
      },
      onFailed: ({ path, code, message }) => output.note(`not sealed: ${printable(path)}: ${printable(message)} [${code}]`),
    });
    if (output.json) output.printJson({ schema: 'holdfast.seal/1', ...result });
    const failure = whyNotAll(operands, result);
    if (failure !== null) throw failure;
    return EXIT.ok;
  },
});
