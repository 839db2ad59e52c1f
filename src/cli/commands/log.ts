import { EXIT, type ExitCode } from '../../core/exit-codes.ts';
import { printable } from '../../core/printable.ts';
import { defineCommand } from '../command.ts';
import { wholeNumber } from '../option-values.ts';

export const log = defineCommand({
  description:
    'Shows what happened to a run as a timeline: one lane per attempt on a common axis, then the saves, notices, decisions and ends of each, with their numbers. It reads the ledger that holdfast run keeps in the folder of the run, and changes nothing.',
  operand: { name: 'RUN', description: 'The folder of the run', count: 'one', complete: 'paths' },
  options: {
    follow: { kind: 'flag', short: 'f', description: 'Go on and show what is added, until the run is finished or Ctrl-C' },
    all: { kind: 'flag', description: 'Every attempt, every save and every line of progress, where otherwise rows of saves are summed up' },
    last: {
      kind: 'value',
      value: 'COUNT',
      parse: wholeNumber('a number of attempts', 1),
      default: '10',
      description: 'Show only the newest attempts',
    },
  },
  examples: [
    { line: 'log runs/gpt2', description: 'What happened to this run?' },
    { line: 'log --follow runs/gpt2', description: 'And what happens now?' },
    { line: 'log --all --json runs/gpt2', description: 'Everything that was recorded, for a program' },
  ],

  async run({ values, operands: [path = ''], output, clock, signal }): Promise<ExitCode> {
    const { showLog } = await import('../log/show-log.ts');
    const shown = await showLog(path, {
      output,
      clock,
      signal,
      isAll: values.all,
      last: values.all ? null : values.last,
      isFollowing: values.follow,
    });
    if (shown > 0) return EXIT.ok;
    output.note(`nothing was recorded in ${printable(path)}: no attempt has run there under holdfast run`);
    return EXIT.nothing;
  },
});
