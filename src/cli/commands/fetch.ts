import { formatBytes } from '../../core/bytes.ts';
import { EXIT, type ExitCode } from '../../core/exit-codes.ts';
import { printable } from '../../core/printable.ts';
import { defineCommand } from '../command.ts';
import { someText } from '../option-values.ts';
import { REMOTE_OPTIONS } from './remote-options.ts';

export const fetch = defineCommand({
  description:
    'Brings a shipped checkpoint back: every byte is compared with its seal on the way, and the checkpoint appears in the folder as a whole or not at all. Stopped at any moment, the same command goes on where it was.',
  operand: {
    name: 'URL DIR',
    description: 'The address that was given to ship, and the folder of a run to put the checkpoint in; it is made when it is not there',
    count: 'two',
    complete: 'paths',
  },
  options: {
    checkpoint: {
      kind: 'value',
      value: 'NAME',
      parse: someText('the name of a checkpoint'),
      description: 'Fetch this one, by its name at the address; the newest that is good without it',
    },
    ...REMOTE_OPTIONS,
  },
  examples: [
    { line: 'fetch s3://my-checkpoints/gpt2 runs/gpt2', description: 'The last good checkpoint that was shipped' },
    { line: 'fetch --checkpoint step-5000 gs://my-checkpoints/gpt2 runs/gpt2', description: 'A certain one' },
  ],

  async run({ values, operands, output, ...world }): Promise<ExitCode> {
    const { fetchRun } = await import('../remote/fetch-run.ts');
    const onNote = (text: string): void => output.note(printable(text));
    const report = await fetchRun(operands, values, { ...world, onNote, onProgress: (progress) => output.progress.update(progress) });
    for (const { name, code, reason } of report.skipped)
      output.note(printable(`The copy ${name} is no good and stays where it is; an older one was taken: ${reason} [${code}]`));
    if (!output.json) {
      for (const note of report.notes) output.note(printable(note));
      for (const warning of report.warnings) output.note(`warning: ${printable(warning)}`);
    }
    if (output.json) output.printJson(report);
    else if (output.quiet) output.print(report.path);
    else {
      const { state, path, files, bytes, receivedBytes } = report;
      const how = state === 'already' ? 'was here already' : `received ${formatBytes(receivedBytes)}`;
      output.print(
        `${state === 'already' ? 'here   ' : 'fetched'}  ${printable(path)}  ${files} ${files === 1 ? 'file' : 'files'}, ${formatBytes(bytes)}; ${how}`,
      );
    }
    return EXIT.ok;
  },
});
