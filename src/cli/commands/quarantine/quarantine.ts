import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { printable } from '../../../core/printable.ts';
import { defineCommand } from '../../frame/command.ts';
import { someText } from '../../frame/option-values.ts';

/** The command `holdfast quarantine`. */
export const quarantine = defineCommand({
  description:
    'Lists the checkpoints that were moved aside because they are bad, with the reasons. With --restore it moves one back under its name. The run resumes from a restored checkpoint only after every byte of it was read.',
  operand: { name: 'RUN', description: 'The folder of the run', count: 'one', complete: 'paths' },
  options: {
    restore: { kind: 'value', value: 'NAME', parse: someText('a name'), description: 'Move this checkpoint back' },
  },
  examples: [
    { line: 'quarantine runs/gpt2', description: 'What was moved aside, and why?' },
    { line: 'quarantine runs/gpt2 --restore=step-5000', description: 'Move it back after you repaired its file' },
  ],

  async run({ values: { restore: wanted }, operands: [path = ''], output, clock }): Promise<ExitCode> {
    const { listQuarantined, restoreQuarantined } = await import('./quarantine-run.ts');
    if (wanted !== null) {
      const restored = restoreQuarantined(path, wanted, clock);
      if (output.json) output.printJson({ schema: 'holdfast.quarantine/1', restored });
      else output.print(`restored  ${printable(restored.path)}`);
      return EXIT.ok;
    }
    const entries = listQuarantined(path, clock);
    if (output.json) output.printJson({ schema: 'holdfast.quarantine/1', entries });
    else if (output.quiet) output.print(...entries.map(({ id }) => id));
    else if (entries.length === 0) output.note('the quarantine is empty');
    else {
      const { style } = output;
      for (const { id, code, reason, movedAt } of entries) {
        output.print(
          `${style.bold(printable(id))}  ${printable(reason)}`,
          style.dim(`  ${printable(code)} · ${printable(movedAt ?? 'no date')}`),
        );
      }
    }
    return EXIT.ok;
  },
});
