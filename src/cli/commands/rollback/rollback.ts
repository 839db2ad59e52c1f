import { HoldfastError } from '../../../core/errors.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { printable } from '../../../core/printable.ts';
import { defineCommand } from '../../frame/command.ts';
import { someText } from '../../frame/option-values.ts';

/** The command `holdfast rollback`. */
export const rollback = defineCommand({
  description:
    'Makes a run resume from an older checkpoint, or start fresh. It deletes nothing; newer checkpoints no longer count. It also fences the run: a trainer that is still alive can no longer commit.',
  operand: { name: 'RUN', description: 'The folder of the run', count: 'one', complete: 'paths' },
  options: {
    to: { kind: 'value', value: 'STEP', parse: someText('a step'), description: 'The step to go back to, or the name of the checkpoint' },
    fresh: { kind: 'flag', description: 'Let the run start from scratch' },
    undo: { kind: 'flag', description: 'Undo the last rollback: every checkpoint counts again' },
  },
  examples: [
    { line: 'rollback runs/gpt2 --to=5000', description: 'The loss went wrong after step 5000' },
    { line: 'rollback runs/gpt2 --fresh', description: 'Start from scratch, and keep the existing checkpoints' },
    { line: 'rollback runs/gpt2 --undo', description: 'The rollback was a mistake' },
  ],

  async run({ values: { to, fresh, undo }, operands: [path = ''], output, clock, signal }): Promise<ExitCode> {
    if ([to !== null, fresh, undo].filter(Boolean).length !== 1) {
      throw new HoldfastError('USAGE', { message: 'give exactly one of --to, --fresh and --undo' });
    }
    const { rollBackRun } = await import('./roll-back-run.ts');
    const report = await rollBackRun(path, { to, isUndo: undo, clock, signal });
    if (output.json) output.printJson(report);
    else if (report.isUndone !== null) output.print(report.isUndone ? 'the rollback was undone' : 'there was no rollback');
    else if (report.to === null) output.print(`${printable(path)} starts fresh; nothing was deleted`);
    else output.print(`${printable(path)} resumes from ${printable(report.to.name)} (step ${report.to.step}); nothing was deleted`);
    return EXIT.ok;
  },
});
