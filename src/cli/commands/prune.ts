import { type Millis, parseDuration } from '../../core/duration.ts';
import { HoldfastError } from '../../core/errors.ts';
import { EXIT, type ExitCode } from '../../core/exit-codes.ts';
import type { Parsed } from '../../core/parsed.ts';
import { defineCommand } from '../command.ts';
import { wholeNumber } from '../option-values.ts';

export const prune = defineCommand({
  description:
    'Deletes the sealed checkpoints of a run that no rule keeps. The last good one is verified first and always stays, so do newer ones, pinned ones and everything that belongs to another run or is not sealed. Without a good one nothing is deleted. What a rollback took out stays until something newer is sealed, and counts as oldest from then on.',
  operand: { name: 'RUN', description: 'The folder of the run', count: 'one', complete: 'paths' },
  options: {
    keep: { kind: 'value', value: 'COUNT', parse: wholeNumber('how many to keep', 1), description: 'Keep the newest so many' },
    every: {
      kind: 'value',
      value: 'STEPS',
      parse: wholeNumber('a number of steps', 1),
      description: 'Keep those whose step is a multiple of this',
    },
    within: {
      kind: 'value',
      value: 'DURATION',
      parse: (text: string): Parsed<Millis> => parseDuration(text),
      description: 'Keep those sealed within this time, such as 12h or 7d',
    },
    deep: { kind: 'flag', description: 'Read every byte of the last good one before anything is deleted' },
    'dry-run': { kind: 'flag', description: 'Tell what would be deleted, and change nothing' },
  },
  examples: [
    { line: 'prune runs/gpt2 --keep=3', description: 'Keep the newest three' },
    { line: 'prune runs/gpt2 --keep=2 --every=10000 --within=1d --dry-run', description: 'What would go under these rules?' },
  ],

  async run({ values, operands: [path = ''], output, clock, signal }): Promise<ExitCode> {
    const { keep, every, within } = values;
    if (keep === null && every === null && within === null) {
      throw new HoldfastError('USAGE', {
        message: 'nothing says what to keep',
        hint: 'Give --keep, --every or --within, or several of them.',
      });
    }
    const [{ pruneReport }, { skippedLines }] = await Promise.all([
      import('../store/prune-report.ts'),
      import('../store/skipped-lines.ts'),
    ]);
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
      const { renderPruned } = await import('../store/render-pruned.ts');
      output.print(...renderPruned(report, output.style));
    }
    if (report.lastGood !== null) return EXIT.ok;
    const { kept, skipped, withheld } = report;
    const { whyNothingGoes } = await import('../store/prune-report.ts');
    output.note(`nothing was deleted: ${whyNothingGoes(report)}`);
    return kept.length + skipped.length + withheld.length === 0 ? EXIT.nothing : EXIT.no;
  },
});
