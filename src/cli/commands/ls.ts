import { EXIT, type ExitCode } from '../../core/exit-codes.ts';
import { defineCommand } from '../command.ts';

export const ls = defineCommand({
  description:
    'Lists the sealed checkpoints of a run, the newest first: step, attempt, age, size, verdict and where each lies, the last good one marked. Changes nothing.',
  operand: { name: 'RUN', description: 'The folder of the run', count: 'one', complete: 'paths' },
  options: { deep: { kind: 'flag', description: 'Read every byte of every checkpoint and compare it with its checksum' } },
  examples: [
    { line: 'ls runs/gpt2', description: 'What is there, and where would the run resume?' },
    { line: 'ls --deep --json runs/gpt2', description: 'Every byte of all of them, for a program' },
  ],

  async run({ values, operands: [path = ''], output, clock, signal }): Promise<ExitCode> {
    const { listRun } = await import('../store/list-run.ts');
    const report = await listRun(path, {
      clock,
      signal,
      level: values.deep ? 'deep' : 'quick',
      onProgress: (progress) => output.progress.update(progress),
    });
    if (output.json) output.printJson(report);
    else if (output.quiet) output.print(...report.checkpoints.map((checkpoint) => checkpoint.path));
    else {
      const { renderList } = await import('../store/render-list.ts');
      output.print(...renderList(report, output, clock.now()));
    }
    if (report.isWithheld || report.missingTarget !== null) return EXIT.no;
    return report.checkpoints.length + report.broken.length === 0 ? EXIT.nothing : EXIT.ok;
  },
});
