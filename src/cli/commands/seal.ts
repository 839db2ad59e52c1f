import { formatBytes } from '../../core/bytes.ts';
import { EXIT, type ExitCode } from '../../core/exit-codes.ts';
import { printable } from '../../core/printable.ts';
import { defineCommand } from '../command.ts';
import { someText, wholeNumber } from '../option-values.ts';
import type { ProgressUpdate } from '../output/progress.ts';

export const seal = defineCommand({
  description:
    'Seals a finished checkpoint that any tool has made: reads every byte and holds it against the checksums its format stores, records a checksum of every part in a small manifest, and syncs everything. From then on it counts: the newest step is the last good one, and one that is older than what is sealed stays behind that. The files stay exactly as they are. Of several paths each is sealed that can be.',
  operand: {
    name: 'PATH',
    description: 'A checkpoint directory, a checkpoint that is a single file, or what the files of one of TensorFlow begin with',
    count: 'many',
    complete: 'paths',
  },
  options: {
    run: {
      kind: 'value',
      value: 'FOLDER',
      parse: someText('the folder of a run'),
      description: 'The folder of the run; by default the one the checkpoint lies in. From elsewhere on the same volume it is moved there',
    },
    step: {
      kind: 'value',
      value: 'STEP',
      parse: wholeNumber('a step', 0),
      description: 'Its step, where neither its files nor its name say it',
    },
    accept: {
      kind: 'choice',
      choices: ['resumable', 'weights', 'anything'],
      default: 'resumable',
      description: 'What is good enough: training can resume from it, also bare weights, also formats Holdfast does not know',
    },
    attempt: {
      kind: 'value',
      value: 'NUMBER',
      parse: wholeNumber('an attempt', 0),
      description:
        'Refuse when this is not the newest attempt of the run any more; by default it is sealed for the newest, and behind the last good one where that has a higher step',
    },
    'world-size': {
      kind: 'value',
      value: 'RANKS',
      parse: wholeNumber('a world size', 1),
      description: 'How many ranks wrote it, where it does not say so itself',
    },
  },
  examples: [
    { line: 'seal runs/gpt2/checkpoint-500', description: 'Prove it, and record its checksums: a run can resume from it' },
    { line: 'seal --run runs/gpt2 /tmp/export/step-500', description: 'The same, and move it into the folder of the run' },
    { line: 'seal --accept=weights exports/model.safetensors', description: 'A model without training state' },
  ],

  async run({ values, operands, output, clock, signal }): Promise<ExitCode> {
    const { sealPaths, whyNotAll } = await import('../store/seal-path.ts');
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
