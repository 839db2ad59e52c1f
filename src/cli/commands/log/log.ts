import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { defineCommand } from '../../frame/command.ts';
import { wholeNumber } from '../../frame/option-values.ts';

/** The `log` command: shows the timeline of a run. */
export const log = defineCommand({
  description:
    'Shows what happened to a run as a timeline: one lane per attempt on a common axis. Below it come the saves, notices, decisions and ends of each attempt, with their numbers. It reads the ledger that holdfast run keeps in the folder of the run, and changes nothing.',
  operand: { name: 'RUN', description: 'The folder of the run', count: 'one', complete: 'paths' },
  options: {
    follow: { kind: 'flag', short: 'f', description: 'Show new events as they come, until the run is finished or you press Ctrl-C' },
    all: {
      kind: 'flag',
      description: 'Show every attempt, every save and every line of progress; without it, rows of saves are summed up',
    },
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
    { line: 'log --follow runs/gpt2', description: 'Follow what happens now' },
    { line: 'log --all --json runs/gpt2', description: 'Print everything that was recorded, as JSON' },
  ],

  async run({ values, operands: [path = ''], output, clock, signal }): Promise<ExitCode> {
    const { showLog } = await import('./show-log.ts');
    const shown = await showLog(path, {
      output,
      clock,
      signal,
      isAll: values.all,
      last: values.all ? null : values.last,
      isFollowing: values.follow,
    });
    if (shown > 0) return EXIT.ok;
    const { nothingRecorded } = await import('./nothing-recorded.ts');
    output.note(nothingRecorded(path));
    return EXIT.nothing;
  },
});
