import { HoldfastError } from '../../core/errors.ts';
import { EXIT, type ExitCode } from '../../core/exit-codes.ts';
import { printable } from '../../core/printable.ts';
import { defineCommand } from '../command.ts';
import { wholeNumber } from '../option-values.ts';

export const resume = defineCommand({
  description:
    'Prints the path of the last good checkpoint: the newest sealed one that verifies. A bad one is moved to quarantine with the reason, and the next older one is taken. Exit code 3 means that nothing was sealed, so that the run starts fresh; 1 that nothing sealed is good, also when all of it lies in quarantine, or that the run was rolled back to a step that is not there.',
  operand: { name: 'RUN', description: 'The folder of the run', count: 'one', complete: 'paths' },
  options: {
    deep: { kind: 'flag', description: 'Read every byte, also when nothing suggests that it changed since it was sealed' },
    'look-only': { kind: 'flag', description: 'Change nothing: what is bad is told, but stays where it is' },
    'world-size': {
      kind: 'value',
      value: 'RANKS',
      parse: wholeNumber('a world size', 1),
      description: 'How many ranks will resume; another number than the one that saved is told',
    },
  },
  examples: [
    { line: 'resume runs/gpt2', description: 'The path for the trainer, on standard output; the reasons on standard error' },
    { line: 'resume --deep --json runs/gpt2', description: 'Every byte, and all facts for a program' },
  ],

  async run({ values, operands: [path = ''], output, clock, signal }): Promise<ExitCode> {
    const [{ resumeReport }, { skippedLines }] = await Promise.all([
      import('../store/resume-report.ts'),
      import('../store/skipped-lines.ts'),
    ]);
    const report = await resumeReport(path, {
      clock,
      signal,
      level: values.deep ? 'deep' : 'auto',
      isReadOnly: values['look-only'],
      worldSize: values['world-size'],
      onProgress: (progress) => output.progress.update(progress),
    });
    for (const line of skippedLines(report.skipped)) output.note(line);
    for (const note of report.notes) output.note(note);
    if (output.json) output.printJson(report);
    else if (report.lastGood !== null) output.print(report.lastGood.path);
    if (report.lastGood !== null) return EXIT.ok;
    if (report.startsFresh) {
      output.note(report.why ?? '');
      return EXIT.nothing;
    }
    if (output.json) return EXIT.no;
    throw new HoldfastError('NO_LAST_GOOD', {
      message: `nothing in ${printable(path)} is good to resume from: ${report.why ?? ''}`,
      hint: 'Nothing was deleted: holdfast quarantine RUN lists what was moved aside and why. holdfast rollback RUN decides anew: --to=STEP goes back to another step, --undo lets everything count again, --fresh lets the run start from nothing.',
    });
  },
});
