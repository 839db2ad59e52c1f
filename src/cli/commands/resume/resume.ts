import { HoldfastError } from '../../../core/errors.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { printable } from '../../../core/printable.ts';
import { defineCommand } from '../../frame/command.ts';
import { wholeNumber } from '../../frame/option-values.ts';

/** The command `holdfast resume`. */
export const resume = defineCommand({
  description:
    'Prints the path of the last good checkpoint: the newest sealed one that verifies. It moves a bad one to quarantine with the reason, and takes the next older one. Exit code 3 means that nothing is sealed, so the run starts fresh. Exit code 1 means that no sealed checkpoint is good, or that all of them are in quarantine. It also means that a rollback chose a step that does not exist.',
  operand: { name: 'RUN', description: 'The folder of the run', count: 'one', complete: 'paths' },
  options: {
    deep: { kind: 'flag', description: 'Read every byte, even if no file seems to have changed since the seal' },
    'look-only': { kind: 'flag', description: 'Change nothing: report bad checkpoints, but do not move them' },
    'world-size': {
      kind: 'value',
      value: 'RANKS',
      parse: wholeNumber('a world size', 1),
      description: 'How many ranks will resume; resume reports if another number of ranks saved',
    },
  },
  examples: [
    { line: 'resume runs/gpt2', description: 'Print the path for the trainer on standard output, and the reasons on standard error' },
    { line: 'resume --deep --json runs/gpt2', description: 'Check every byte, and print all facts as JSON' },
  ],

  async run({ values, operands: [path = ''], output, clock, signal }): Promise<ExitCode> {
    const [{ resumeReport }, { skippedLines }] = await Promise.all([import('./resume-report.ts'), import('../../store/skipped-lines.ts')]);
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
      message: `no checkpoint in ${printable(path)} is good enough to resume from: ${report.why ?? ''}`,
      hint: 'Nothing was deleted. holdfast quarantine RUN lists what was moved aside, and why. holdfast rollback RUN changes where the run resumes: --to=STEP takes another step, --undo lets every checkpoint count again, --fresh starts from scratch.',
    });
  },
});
