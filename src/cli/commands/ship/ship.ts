import { formatBytes } from '../../../core/bytes.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { printable } from '../../../core/printable.ts';
import { defineCommand } from '../../frame/command.ts';
import { someText } from '../../frame/option-values.ts';
import { REMOTE_OPTIONS } from '../../remote/remote-options.ts';

/** The `ship` command. */
export const ship = defineCommand({
  description:
    'Copies a sealed checkpoint to an object store, with proof. The copy counts as shipped only after the store has reported the crc32c of every object, and each equals the sealed one. If it is interrupted, run the same command again: it continues where it stopped.',
  operand: {
    name: 'RUN URL',
    description:
      'The folder of the run, and the target: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or file:///FOLDER; each run needs its own prefix',
    count: 'two',
    complete: 'paths',
  },
  options: {
    checkpoint: {
      kind: 'value',
      value: 'NAME',
      parse: someText('the name of a checkpoint'),
      description: 'Ship this checkpoint, by its name in the folder; without it, the newest sealed one',
    },
    all: { kind: 'flag', description: 'Ship every sealed checkpoint that was not shipped yet, the oldest first' },
    ...REMOTE_OPTIONS,
  },
  examples: [
    {
      line: 'ship runs/gpt2 s3://my-checkpoints/gpt2',
      description: 'Ship the newest sealed checkpoint, with the credentials that the AWS tools use',
    },
    {
      line: 'ship --all --limit 500MiB/s runs/gpt2 gs://my-checkpoints/gpt2',
      description: 'Ship all of them, and leave bandwidth for others',
    },
    { line: 'ship --endpoint https://minio:9000 runs/gpt2 s3://checkpoints/gpt2', description: 'Ship to your own object store' },
  ],

  async run({ values, operands, output, ...world }): Promise<ExitCode> {
    const { shipRun } = await import('./ship-run.ts');
    const onNote = (text: string): void => output.note(printable(text));
    const report = await shipRun(operands, values, { ...world, onNote, onProgress: (progress) => output.progress.update(progress) });
    if (output.json) output.printJson(report);
    else {
      output.print(
        ...report.checkpoints.map(({ copy, state, bytes, files, sentBytes }) => {
          const how = state === 'already' ? 'was there already' : `sent ${formatBytes(sentBytes)}`;
          return `${state === 'already' ? 'there  ' : 'shipped'}  ${printable(`${report.url}/${copy}`)}  ${files} ${files === 1 ? 'file' : 'files'}, ${formatBytes(bytes)}; ${how}`;
        }),
      );
      for (const note of report.notes) output.note(printable(note));
    }
    return EXIT.ok;
  },
});
