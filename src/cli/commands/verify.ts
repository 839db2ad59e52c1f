import { EXIT, type ExitCode } from '../../core/exit-codes.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { VerifyReport } from '../../checkpoint/report.ts';
import { printable } from '../../core/printable.ts';
import { defineCommand } from '../command.ts';

export const verify = defineCommand({
  description:
    'Tells whether a run could resume from a checkpoint, and if not, why not: of any framework, without the framework, and without executing anything in the file.',
  operand: {
    name: 'PATH',
    description: 'A checkpoint file, a checkpoint directory, or the directory of a run with many checkpoints',
    count: 'many',
    complete: 'paths',
  },
  options: {
    deep: { kind: 'flag', description: 'Read every byte and compare it with every checksum the format stores' },
    'last-good': { kind: 'flag', description: 'Print only the path of the newest checkpoint a run could resume from' },
    require: {
      kind: 'choice',
      choices: ['resumable', 'unchecked'],
      default: 'unchecked',
      description: 'The least that is good enough: resumable needs checksums that were compared (with --deep)',
    },
    strict: { kind: 'flag', description: 'Exit with 4 when loading a checkpoint would call code outside the frameworks’ own names' },
  },
  examples: [
    { line: 'verify runs/gpt2/checkpoint-500', description: 'Is this checkpoint whole? Names, sizes, headers and indexes only' },
    { line: 'verify --deep model.ckpt', description: 'Every byte, against every checksum that is stored' },
    { line: 'verify --last-good runs/gpt2', description: 'Where a run could resume, for scripts' },
    { line: 'verify --json --strict downloads/', description: 'All evidence for a program, and a special exit code for unsafe pickles' },
  ],

  async run({ values, operands, output, signal }): Promise<ExitCode> {
    const { verifyPaths } = await import('../../checkpoint/verify.ts');
    const requireChecked = values.require === 'resumable';
    const report = await verifyPaths(operands, {
      level: values.deep ? 'deep' : 'quick',
      signal,
      onlyLastGood: values['last-good'],
      requireChecked,
      onProgress: (progress) => output.progress.update(progress),
    });
    if (values['last-good']) return printLastGood(report, output);
    if (output.json) output.printJson(report);
    else if (output.quiet)
      printLines(
        output,
        report.paths.flatMap(({ checkpoints }) => checkpoints.map(({ verdict, path }) => `${verdict}  ${printable(path)}`)),
      );
    else {
      const { renderReport } = await import('../verify/render-report.ts');
      printLines(output, renderReport(report, output));
    }
    return exitCodeOf(report, { requireChecked, strict: values.strict });
  },
});

/** There can be more lines than a call may have arguments. */
function printLines(output: { print(...lines: string[]): void }, lines: readonly string[]): void {
  if (lines.length > 0) output.print(lines.join('\n'));
}

interface Wishes {
  readonly requireChecked: boolean;
  readonly strict: boolean;
}

/** The answer as an exit code: unsafe first, then anything not good enough, then a path where nothing was recognised. */
export function exitCodeOf(report: VerifyReport, { requireChecked, strict }: Wishes): ExitCode {
  const checkpoints = report.paths.flatMap((path) => path.checkpoints);
  if (strict && checkpoints.some(({ security }) => security.isUnsafe)) return EXIT.unsafe;
  const isGood = ({ verdict }: { verdict: string }) => verdict === 'RESUMABLE' || (verdict === 'UNCHECKED' && !requireChecked);
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
  const nothing = report.paths.every(({ checkpoints }) => checkpoints.length === 0);
  if (nothing) return EXIT.nothing;
  const missing = found.filter(({ lastGood }) => lastGood === null);
  if (missing.length === 0) return EXIT.ok;
  throw new HoldfastError('NO_LAST_GOOD', {
    message: `no checkpoint below ${missing.map(({ path }) => printable(path)).join(', ')} is one a run could resume from`,
    hint: 'holdfast verify PATH tells why for each of them.',
  });
}
