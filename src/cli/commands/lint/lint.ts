import { type Millis, parseDuration } from '../../../core/duration.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { excerpt } from '../../../core/printable.ts';
import { type Parsed, parsed, refused } from '../../../core/parsed.ts';
import type { Severity } from '../../../lint/source/finding.ts';
import { defineCommand } from '../../frame/command.ts';
import { didYouMean } from '../../frame/suggest.ts';
import { NO_KIND } from '../../../lint/manifest/size-limits.ts';
import type { LintReport } from './run-lint.ts';

const SEVERITIES = ['error', 'warning', 'info'] as const;

function codeList(text: string): Parsed<readonly string[]> {
  const codes = text.split(',').map((code) => code.trim().toUpperCase().replaceAll('-', '_'));
  return codes.every((code) => /^[A-Z][A-Z0-9_]*$/.test(code))
    ? parsed(codes)
    : refused(`"${excerpt(text, 60)}" is not a list of codes, such as JOB_NO_TTL,CRON_OVERLAPS`);
}

/** The command `holdfast lint`. */
export const lint = defineCommand({
  description:
    'Finds in manifests and training scripts what an interruption would turn into lost work: YAML and Python files, folders, or - for what helm template or kustomize build prints. Nothing is executed and no cluster is asked. A manifest that names a script that is linted too is held against it. A finding is switched off by a comment on its line or the line above: # holdfast-lint: off CODE reason. Exit code 1: findings; 2: none, but a part of the input could not be read.',
  operand: { name: 'PATH', description: 'A file, a folder, or - for standard input', count: 'many', complete: 'paths' },
  options: {
    fix: {
      kind: 'flag',
      description: 'Edit the YAML files in place where there is one right answer; comments, order and indentation stay',
    },
    diff: { kind: 'flag', description: 'Show what --fix changes; without --fix nothing is written' },
    format: { kind: 'choice', choices: ['text', 'json', 'sarif', 'github'], default: 'text', description: 'How findings are printed' },
    severity: { kind: 'choice', choices: SEVERITIES, default: 'info', description: 'The least severity that is reported' },
    'fail-on': {
      kind: 'choice',
      choices: [...SEVERITIES, 'never'],
      default: 'warning',
      description: 'The least severity that makes exit code 1',
    },
    rule: { kind: 'value', value: 'CODES', parse: codeList, description: 'Only these rules, separated by commas' },
    save: {
      kind: 'value',
      value: 'TIME',
      parse: (text: string): Parsed<Millis> => parseDuration(text),
      description: 'How long a save takes: a shorter grace is reported',
    },
  },
  examples: [
    { line: 'lint job.yaml train.py', description: 'A manifest, and the script that it runs' },
    { line: 'lint deploy --fix --diff', description: 'A folder; fix what has one right answer, and show it' },
    { line: 'lint - --format=github', description: 'What helm template prints, as annotations of a pull request' },
    { line: 'lint . --format=sarif --severity=warning', description: 'For code scanning' },
  ],

  async run({ values, operands, output, signal, whileBusy }): Promise<ExitCode> {
    const [{ runLint }, { RULES }] = await Promise.all([import('./run-lint.ts'), import('../../../lint/catalogue.ts')]);
    const codes = RULES.map(({ code }) => code);
    const unknown = values.rule?.find((code) => !codes.includes(code));
    if (unknown !== undefined) {
      throw new HoldfastError('USAGE', {
        message: `there is no rule "${unknown}".${didYouMean(unknown, codes)}`,
        hint: '`holdfast explain` lists all codes.',
      });
    }
    if (values.fix && operands.includes('-')) {
      throw new HoldfastError('USAGE', {
        message: 'standard input cannot be fixed in place',
        hint: 'Use --diff to see what --fix would change.',
      });
    }
    const format = output.json ? 'json' : values.format;
    const report = await runLint(operands, {
      codes: values.rule === null ? null : new Set(values.rule),
      saveMs: values.save,
      severity: values.severity,
      isFix: values.fix,
      isDiff: values.diff,
      signal,
      whileBusy,
    });
    const { render } = await import('./render.ts');
    await whileBusy(() => render(report, format, output));
    return exitOf(report, values['fail-on']);
  },
});

function exitOf({ result, failures }: LintReport, failOn: Severity | 'never'): ExitCode {
  const { findings, objects, scripts, otherScripts, otherKinds } = result;
  const least = failOn === 'never' ? -1 : SEVERITIES.indexOf(failOn);
  if (findings.some(({ severity }) => SEVERITIES.indexOf(severity) <= least)) return EXIT.no;
  if (failures.length > 0) return EXIT.partly;
  const manifests = [...otherKinds.keys()].filter((kind) => kind !== NO_KIND).length;
  return objects + scripts + otherScripts + manifests > 0 ? EXIT.ok : EXIT.nothing;
}
