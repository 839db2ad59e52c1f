import { HoldfastError } from '../../core/errors.ts';
import { EXIT, type ExitCode } from '../../core/exit-codes.ts';
import { printable } from '../../core/printable.ts';
import { defineCommand } from '../command.ts';
import { someText } from '../option-values.ts';

export const rollback = defineCommand({
  description:
    'Takes a run over: from now on it resumes from an older checkpoint, or starts fresh. Nothing is deleted; newer checkpoints only stop to count. A trainer of the run that is still alive can commit nothing any more.',
  operand: { name: 'RUN', description: 'The folder of the run', count: 'one', complete: 'paths' },
  options: {
    to: { kind: 'value', value: 'STEP', parse: someText('a step'), description: 'The step to go back to, or the name of the checkpoint' },
    fresh: { kind: 'flag', description: 'Let the run start from nothing' },
    undo: { kind: 'flag', description: 'Forget the last rollback: everything counts again' },
  },
  examples: [
    { line: 'rollback runs/gpt2 --to=5000', description: 'The loss went wrong after step 5000' },
    { line: 'rollback runs/gpt2 --fresh', description: 'Start again, and keep what there is' },
    { line: 'rollback runs/gpt2 --undo', description: 'It was right after all' },
  ],

  async run({ values: { to, fresh, undo }, operands: [path = ''], output, clock, signal }): Promise<ExitCode> {
    if ([to !== null, fresh, undo].filter(Boolean).length !== 1) {
      throw new HoldfastError('USAGE', { message: 'exactly one of --to, --fresh and --undo is needed' });
    }
    const { rollBackRun } = await import('../store/roll-back-run.ts');
    const report = await rollBackRun(path, { to, isUndo: undo, clock, signal });
    if (output.json) output.printJson(report);
    else if (report.isUndone !== null) output.print(report.isUndone ? 'the rollback is forgotten' : 'there was no rollback');
    else if (report.to === null) output.print(`${printable(path)} starts fresh; nothing was deleted`);
    else output.print(`${printable(path)} resumes from ${printable(report.to.name)} (step ${report.to.step}); nothing was deleted`);
    return EXIT.ok;
  },
});
