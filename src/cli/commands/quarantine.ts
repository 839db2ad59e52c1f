import { EXIT, type ExitCode } from '../../core/exit-codes.ts';
import { printable } from '../../core/printable.ts';
import { defineCommand } from '../command.ts';
import { someText } from '../option-values.ts';

export const quarantine = defineCommand({
  description:
    'Lists the checkpoints that were moved aside because they are bad, with the reasons, or brings one back under its name. Every byte of what comes back is read before the run resumes from it.',
  operand: { name: 'RUN', description: 'The folder of the run', count: 'one', complete: 'paths' },
  options: {
    restore: { kind: 'value', value: 'NAME', parse: someText('a name'), description: 'Bring this one back' },
  },
  examples: [
    { line: 'quarantine runs/gpt2', description: 'What was moved aside, and why?' },
    { line: 'quarantine runs/gpt2 --restore=step-5000', description: 'Bring it back, after its file was repaired' },
  ],

  async run({ values: { restore: wanted }, operands: [path = ''], output, clock }): Promise<ExitCode> {
    const { listQuarantined, restoreQuarantined } = await import('../store/quarantine-run.ts');
    if (wanted !== null) {
      const restored = restoreQuarantined(path, wanted, clock);
      if (output.json) output.printJson({ schema: 'holdfast.quarantine/1', restored });
      else output.print(`brought back  ${printable(restored.path)}`);
      return EXIT.ok;
    }
    const entries = listQuarantined(path, clock);
    if (output.json) output.printJson({ schema: 'holdfast.quarantine/1', entries });
    else if (output.quiet) output.print(...entries.map(({ id }) => id));
    else if (entries.length === 0) output.note('nothing is in quarantine');
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
