import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { printable } from '../../../core/printable.ts';
import { defineCommand } from '../../frame/command.ts';
import { PLACE_OPTIONS } from '../../remote/remote-options.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Output } from '../../output/output.ts';
import type { CopiesReport } from './list-copies.ts';

/** An address of copies. A folder with such a name can be given as ./s3:/… */
const ADDRESS = /^(?:s3|gs|file):\/\//;

function exitOfCopies({ copies, broken, problem }: CopiesReport): ExitCode {
  if (copies.some(({ isNewest }) => isNewest)) return EXIT.ok;
  return copies.length + broken.length === 0 && problem === null ? EXIT.nothing : EXIT.no;
}

type World = { readonly output: Output; readonly clock: Clock; readonly signal: AbortSignal };

async function showSweep(path: string, { output, clock, signal }: World): Promise<ExitCode> {
  const { listSweep } = await import('./list-sweep.ts');
  const sweep = await listSweep(path, { nowMs: clock.now(), signal, onProgress: (update) => output.progress.update(update) });
  if (output.json) output.printJson(sweep);
  else if (output.quiet) output.print(...sweep.trials.map((trial) => printable(trial.path)));
  else output.print(...(await import('./render-sweep.ts')).renderSweep(sweep, output.style));
  return sweep.trials.length === 0 ? EXIT.nothing : EXIT.ok;
}

/** The `ls` command. */
export const ls = defineCommand({
  description:
    'Lists the sealed checkpoints of a run, the newest first, with step, attempt, age, size, verdict and path. It marks the last good one. With an address, it lists the copies there. It changes nothing.',
  operand: {
    name: 'RUN',
    description: 'The folder of the run, or the address of copies: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or file:///FOLDER',
    count: 'one',
    complete: 'paths',
  },
  options: {
    deep: {
      kind: 'flag',
      description: 'Read every byte of every checkpoint and compare it with its checksum; of copies, ask the store for each checksum',
    },
    sweep: {
      kind: 'flag',
      description: 'List the trials of a sweep instead: the folder that --dir named in run --grid, the smallest loss first, with states',
    },
    ...PLACE_OPTIONS,
  },
  examples: [
    { line: 'ls runs/gpt2', description: 'Which checkpoints exist, and where would the run resume?' },
    { line: 'ls --deep --json runs/gpt2', description: 'Check every byte of each checkpoint, and print JSON' },
    { line: 'ls --sweep runs/sweep', description: 'Which trial has the smallest loss, and which ones still train?' },
    { line: 'ls s3://my-checkpoints/gpt2', description: 'Which copies exist, and which one would fetch download?' },
  ],

  async run({ values, operands: [path = ''], output, clock, env, signal }): Promise<ExitCode> {
    if (values.sweep) return showSweep(path, { output, clock, signal });
    if (ADDRESS.test(path)) {
      const { listCopiesAt } = await import('./list-copies.ts');
      const onNote = (text: string): void => output.note(printable(text));
      const copies = await listCopiesAt(path, values, {
        clock,
        env,
        signal,
        onNote,
        onProgress: (update) => output.progress.update(update),
      });
      if (output.json) output.printJson(copies);
      else if (output.quiet) output.print(...copies.copies.map(({ copy }) => printable(`${copies.url}/${copy}`)));
      else output.print(...(await import('./render-copies.ts')).renderCopies(copies, output, clock.now()));
      return exitOfCopies(copies);
    }
    const { listRun } = await import('./list-run.ts');
    const report = await listRun(path, {
      clock,
      signal,
      level: values.deep ? 'deep' : 'quick',
      onProgress: (progress) => output.progress.update(progress),
    });
    if (output.json) output.printJson(report);
    else if (output.quiet) output.print(...report.checkpoints.map((checkpoint) => checkpoint.path));
    else {
      const { renderList } = await import('./render-list.ts');
      output.print(...renderList(report, output, clock.now()));
    }
    if (report.isWithheld || report.missingTarget !== null) return EXIT.no;
    return report.checkpoints.length + report.broken.length === 0 ? EXIT.nothing : EXIT.ok;
  },
});
