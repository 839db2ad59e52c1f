import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { HoldfastError } from '../../../core/errors.ts';
import type { CheckpointReport, VerifyReport } from '../../../verify/report.ts';
import { printable } from '../../../core/printable.ts';
import { defineCommand } from '../../frame/command.ts';

/** The command `holdfast verify`. */
export const verify = defineCommand({
  description:
    'Checks whether a run can resume from a checkpoint, and if not, why not. It works for any framework, does not need the framework, and executes nothing in the file.',
  operand: {
    name: 'PATH',
    description: 'A checkpoint file, a checkpoint directory, or a run directory with many checkpoints',
    count: 'many',
    complete: 'paths',
  },
  options: {
    deep: { kind: 'flag', description: 'Read every byte and compare it with every checksum that the format stores' },
    'last-good': { kind: 'flag', description: 'Print only the path of the newest checkpoint that a run can resume from' },
    require: {
      kind: 'choice',
      choices: ['resumable', 'unchecked'],
      default: 'unchecked',
      description: 'What is good enough: unchecked, or resumable, which needs compared checksums (--deep)',
    },
    strict: { kind: 'flag', description: 'Exit with 4 if loading a checkpoint would call code that is not part of a framework' },
  },
  examples: [
    { line: 'verify runs/gpt2/checkpoint-500', description: 'Check names, sizes, headers and indexes' },
    { line: 'verify --deep model.ckpt', description: 'Check every byte against every stored checksum' },
    { line: 'verify --last-good runs/gpt2', description: 'Print where a run can resume, for scripts' },
    { line: 'verify --json --strict downloads/', description: 'Print all evidence as JSON, and exit with 4 for unsafe pickles' },
  ],

  async run({ values, operands, output, clock, signal }): Promise<ExitCode> {
    const { verifyPaths } = await import('../../../verify/verify.ts');
    const requireChecked = values.require === 'resumable';
    const found = await verifyPaths(operands, {
      level: values.deep ? 'deep' : 'quick',
      signal,
      onlyLastGood: values['last-good'],
      requireChecked,
      onProgress: (progress) => output.progress.update(progress),
    });
    const { asResumeSays } = await import('./as-resume-says.ts');
    const report = await asResumeSays(found, { clock, signal, requireChecked });
    if (values['last-good']) return printLastGood(report, output);
    if (output.json) output.printJson(report);
    else if (output.quiet)
      printLines(
        output,
        report.paths.flatMap(({ checkpoints }) => checkpoints.map(({ verdict, path }) => `${verdict}  ${printable(path)}`)),
      );
    else {
      const { renderReport } = await import('./render-report.ts');
      printLines(output, renderReport(report, output));
    }
    return exitCodeOf(report, { requireChecked, strict: values.strict });
  },
});

/** Prints all lines as one text, because a call has a limit of arguments. */
function printLines(output: { print(...lines: string[]): void }, lines: readonly string[]): void {
  if (lines.length > 0) output.print(lines.join('\n'));
}

interface Wishes {
  readonly requireChecked: boolean;
  readonly strict: boolean;
}

/**
 * Returns the exit code: first unsafe, then not good enough, then a path without a recognised
 * checkpoint.
 */
export function exitCodeOf(report: VerifyReport, { requireChecked, strict }: Wishes): ExitCode {
  const checkpoints = report.paths.flatMap((path) => path.checkpoints);
  if (strict && checkpoints.some(({ security }) => security.isUnsafe)) return EXIT.unsafe;
  const isGood = ({ verdict, isExport }: CheckpointReport) =>
    isExport || verdict === 'RESUMABLE' || (verdict === 'UNCHECKED' && !requireChecked);
  const isRunSound = report.paths.every(({ evidence }) => evidence.every(({ effect }) => effect === 'warning' || effect === 'note'));
  if (!checkpoints.every(isGood)) return EXIT.no;
  // An empty path among good ones must not pass as good.
  if (report.paths.some((path) => path.checkpoints.length === 0)) return EXIT.nothing;
  return isRunSound ? EXIT.ok : EXIT.no;
}

function printLastGood(
  report: VerifyReport,
  output: { json: boolean; print(...lines: string[]): void; printJson(value: unknown): void },
): ExitCode {
  const found = report.paths.map(({ path, lastGood }) => ({ path, lastGood }));
  if (output.json) output.printJson({ schema: report.schema, paths: found });
  else output.print(...found.flatMap(({ lastGood }) => (lastGood === null ? [] : [printable(lastGood)])));
  const nothing = report.paths.every(({ checkpoints, lastGood }) => checkpoints.length === 0 && lastGood === null);
  if (nothing) return EXIT.nothing;
  const missing = found.filter(({ lastGood }) => lastGood === null);
  if (missing.length === 0) return EXIT.ok;
  throw new HoldfastError('NO_LAST_GOOD', {
    message: `a run cannot resume from any checkpoint below ${missing.map(({ path }) => printable(path)).join(', ')}`,
    hint: 'holdfast verify PATH gives the reason for each of them.',
  });
}
