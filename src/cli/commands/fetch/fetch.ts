import { formatBytes } from '../../../core/bytes.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { printable } from '../../../core/printable.ts';
import { defineCommand } from '../../frame/command.ts';
import { someText } from '../../frame/option-values.ts';
import { REMOTE_OPTIONS } from '../../remote/remote-options.ts';

/** The `fetch` command. */
export const fetch = defineCommand({
  description:
    'Downloads a shipped checkpoint. It compares every byte with the seal while it downloads. The checkpoint appears in the folder as a whole or not at all. If it is interrupted, run the same command again: it continues where it stopped.',
  operand: {
    name: 'URL DIR',
    description: 'The address that you gave to ship, and the folder of the run that receives the checkpoint; fetch creates it if needed',
    count: 'two',
    complete: 'paths',
  },
  options: {
    checkpoint: {
      kind: 'value',
      value: 'NAME',
      parse: someText('the name of a checkpoint'),
      description: 'Fetch this checkpoint, by its name at the address; without it, the newest good one',
    },
    ...REMOTE_OPTIONS,
  },
  examples: [
    { line: 'fetch s3://my-checkpoints/gpt2 runs/gpt2', description: 'Fetch the last good checkpoint that was shipped' },
    { line: 'fetch --checkpoint step-5000 gs://my-checkpoints/gpt2 runs/gpt2', description: 'Fetch one checkpoint by name' },
  ],

  async run({ values, operands, output, ...world }): Promise<ExitCode> {
    const { fetchRun } = await import('./fetch-run.ts');
    const onNote = (text: string): void => output.note(printable(text));
    const report = await fetchRun(operands, values, { ...world, onNote, onProgress: (progress) => output.progress.update(progress) });
    for (const { name, code, reason } of report.skipped)
      output.note(printable(`The copy ${name} is not good and stays where it is; an older one was fetched instead: ${reason} [${code}]`));
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
