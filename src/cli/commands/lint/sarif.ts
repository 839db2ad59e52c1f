import { pathToFileURL } from 'node:url';
import { RULES } from '../../../lint/catalogue.ts';
import type { Finding, Severity, Suppressed } from '../../../lint/source/finding.ts';
import { SKIP_KINDS } from '../../../lint/source/finding.ts';
import { version } from '../../frame/version.ts';
import type { LintReport } from './run-lint.ts';

const LEVELS: Readonly<Record<Severity, 'error' | 'warning' | 'note'>> = { error: 'error', warning: 'warning', info: 'note' };

/** The report as SARIF 2.1.0, which code scanning services read. */
export function sarif({ result, failures }: LintReport) {
  const { findings, suppressed, skips } = result;
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'holdfast lint', version: version(), rules: RULES.map(descriptor) } },
        columnKind: 'utf16CodeUnits',
        invocations: [
          {
            executionSuccessful: failures.length === 0,
            toolExecutionNotifications: skips.map(({ path, start, kind, message }) => ({
              level: SKIP_KINDS[kind].isFailure ? 'warning' : 'note',
              message: { text: `Not linted: ${message}` },
              locations: [
                {
                  physicalLocation: {
                    artifactLocation: { uri: uriOf(path) },
                    region: { startLine: start.line, startColumn: start.column },
                  },
                },
              ],
            })),
          },
        ],
        results: [...findings.map(resultOf), ...suppressed.map((one) => ({ ...resultOf(one), suppressions: [suppression(one)] }))],
      },
    ],
  };
}

function descriptor({ code, severity, title, why, fix }: (typeof RULES)[number]) {
  return {
    id: code,
    shortDescription: { text: `${title}.` },
    fullDescription: { text: why },
    help: { text: fix },
    defaultConfiguration: { level: LEVELS[severity] },
  };
}

function resultOf({ code, severity, path, start, end, message, edits }: Finding) {
  const artifactLocation = { uri: uriOf(path) };
  const region = { startLine: start.line, startColumn: start.column, endLine: end.line, endColumn: Math.max(end.column, start.column) };
  return {
    ruleId: code,
    ruleIndex: RULES.findIndex((rule) => rule.code === code),
    level: LEVELS[severity],
    message: { text: message },
    locations: [{ physicalLocation: { artifactLocation, region } }],
    ...(edits.length === 0
      ? {}
      : {
          fixes: [
            {
              artifactChanges: [
                {
                  artifactLocation,
                  replacements: edits.map(({ from, to, text }) => ({
                    deletedRegion: { charOffset: from, charLength: to - from },
                    insertedContent: { text },
                  })),
                },
              ],
            },
          ],
        }),
  };
}

function suppression({ reason }: Suppressed) {
  return { kind: 'inSource', justification: reason };
}

/** A relative path as it is, with what a URI cannot hold escaped. */
function uriOf(path: string): string {
  if (path === '-') return 'stdin';
  return path.startsWith('/') ? pathToFileURL(path).href : path.split('/').map(encodeURIComponent).join('/');
}
