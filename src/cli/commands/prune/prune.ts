import { type Millis, parseDuration } from '../../../core/duration.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import type { Parsed } from '../../../core/parsed.ts';
import { defineCommand } from '../../frame/command.ts';
import { wholeNumber } from '../../frame/option-values.ts';

/** The command `holdfast prune`. */
export const prune = defineCommand({
  description:
    'Deletes the sealed checkpoints of a run that no rule keeps. It verifies the last good one first and always keeps it. It also keeps newer and pinned checkpoints, and everything that is not sealed or belongs to another run. Without a good checkpoint it deletes nothing. Checkpoints that a rollback took out stay until a newer one is sealed; from then on they count as the oldest.',
  operand: { name: 'RUN', description: 'The folder of the run', count: 'one', complete: 'paths' },
  options: {
    keep: { kind: 'value', value: 'COUNT', parse: wholeNumber('how many to keep', 1), description: 'Keep this many of the newest' },
    every: {
      kind: 'value',
      value: 'STEPS',
      parse: wholeNumber('a number of steps', 1),
      description: 'Keep every checkpoint whose step is a multiple of this',
    },
    within: {
      kind: 'value',
      value: 'DURATION',
      parse: (text: string): Parsed<Millis> => parseDuration(text),
      description: 'Keep every checkpoint that was sealed within this time, such as 12h or 7d',
    },
    deep: { kind: 'flag', description: 'Read every byte of the last good checkpoint before deleting anything' },
    'dry-run': { kind: 'flag', description: 'Print what would be deleted, and change nothing' },
  },
  examples: [
    { line: 'prune runs/gpt2 --keep=3', description: 'Keep the newest three' },
    { line: 'prune runs/gpt2 --keep=2 --every=10000 --within=1d --dry-run', description: 'What would these rules delete?' },
  ],

  async run({ values, operands: [path = ''], output, clock, signal }): Promise<ExitCode> {
    const { keep, every, within } = values;
    if (keep === null && every === null && within === null) {
      throw new HoldfastError('USAGE', {
        message: 'no rule says what to keep',
        hint: 'Give at least one of --keep, --every and --within.',
      });
    }
    const [{ pruneReport }, { skippedLines }] = await Promise.all([import('./prune-report.ts'), import('../../store/skipped-lines.ts')]);
    const report = await pruneReport(path, {
      clock,
      signal,
      retention: { last: keep ?? 1, every, withinMs: within },
      level: values.deep ? 'deep' : 'auto',
      isDryRun: values['dry-run'],
      onProgress: (progress) => output.progress.update(progress),
    });
    for (const line of skippedLines(report.skipped)) output.note(line);
    if (output.json) output.printJson(report);
    else if (output.quiet) output.print(...report.removed.map((one) => one.path));
    else {
      const { renderPruned } = await import('./render-pruned.ts');
      output.print(...renderPruned(report, output.style));
    }
    if (report.lastGood !== null) return EXIT.ok;
    const { kept, skipped, withheld } = report;
    const { whyNothingGoes } = await import('./prune-report.ts');
    output.note(`nothing was deleted: ${whyNothingGoes(report)}`);
    return kept.length + skipped.length + withheld.length === 0 ? EXIT.nothing : EXIT.no;
  },
});
