import { expect, it } from 'vitest';
import type { Finding } from '../../../lint/source/finding.ts';
import type { Output } from '../../output/output.ts';
import { createStyle } from '../../output/style.ts';
import { render } from './render.ts';

const FINDING: Finding = {
  code: 'JOB_NO_TTL',
  severity: 'info',
  path: 'all.yaml',
  start: { line: 1, column: 1 },
  end: { line: 1, column: 2 },
  message: 'It stays.',
  fix: 'Set one.',
  edits: [],
};
/** More than one call takes as arguments. */
const FINDINGS = 200_000;
const counts = { suppressed: [], skips: [], objects: FINDINGS, scripts: 0, otherScripts: 0, otherKinds: new Map<string, number>() };
const report = {
  result: { findings: Array.from({ length: FINDINGS }, () => FINDING), ...counts },
  failures: [],
  fixed: [],
  wasWritten: false,
  diff: Array.from({ length: FINDINGS }, () => '+a'),
  texts: new Map<string, string>(),
};

it.each([
  { format: 'text', quiet: true, expected: FINDINGS },
  { format: 'text', quiet: false, expected: 4 * FINDINGS + 4 },
  { format: 'github', quiet: false, expected: FINDINGS },
] as const)('lint prints $expected lines as $format for very many findings', ({ format, quiet, expected }) => {
  let lines = 0;
  const output: Pick<Output, 'quiet' | 'style' | 'columns' | 'print' | 'note'> = {
    quiet,
    style: createStyle({ stream: { isTTY: false }, env: {}, noColor: true }),
    columns: 100,
    print: (...all) => void (lines += all.length),
    note: () => {},
  };
  render(report, format, output as Output);
  expect(lines).toBe(expected);
});
