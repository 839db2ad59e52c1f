import { formatBytes } from '../../core/bytes.ts';
import { EXIT, type ExitCode } from '../../core/exit-codes.ts';
import { printable } from '../../core/printable.ts';
import { defineCommand } from '../command.ts';
import { someText } from '../option-values.ts';
import { REMOTE_OPTIONS } from './remote-options.ts';

export const ship = defineCommand({
  description:
    'Copies a sealed checkpoint to an object store, with proof: it counts as shipped only when the store has told the crc32c of every object and each is the one that was sealed. Stopped at any moment, the same command goes on where it was.',
  operand: {
    name: 'RUN URL',
    description: 'The folder of the run, and where to: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or file:///FOLDER, a prefix for each run',
    count: 'two',
    complete: 'paths',
  },
  options: {
    checkpoint: {
      kind: 'value',
      value: 'NAME',
      parse: someText('the name of a checkpoint'),
      description: 'Ship this one, by its name in the folder; the newest sealed one without it',
    },
    all: { kind: 'flag', description: 'Ship every sealed checkpoint that is not there yet, the oldest first' },
    ...REMOTE_OPTIONS,
  },
  examples: [
    {
      line: 'ship runs/gpt2 s3://my-checkpoints/gpt2',
      description: 'The newest sealed checkpoint, with the credentials the AWS tools would use',
    },
    {
      line: 'ship --all --limit 500MiB/s runs/gpt2 gs://my-checkpoints/gpt2',
      description: 'All of them, leaving room for others on the network',
    },
    { line: 'ship --endpoint https://minio:9000 runs/gpt2 s3://checkpoints/gpt2', description: 'To a store of your own' },
  ],

  async run({ values, operands, output, ...world }): Promise<ExitCode> {
    const { shipRun } = await import('../remote/ship-run.ts');
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
