import type { Effect, EvidenceKind } from '../../src/checkpoint/evidence/evidence.ts';

const MADE = '<!-- Made by `npm run docs` from the tables in the source: change those, not this page. -->';

interface ExitCodeRow {
  readonly code: number;
  readonly name: string;
  readonly meaning: string;
}

interface RunEndRow {
  readonly code: string;
  readonly when: string;
  readonly means: string;
  readonly policy: string;
}

/** What `holdfast run` ends with, and the rules of a Job that fit. */
interface RunContract {
  readonly ends: readonly RunEndRow[];
  readonly podFailurePolicy: string;
}

export function exitCodePage(rows: readonly ExitCodeRow[], { ends, podFailurePolicy }: RunContract): string {
  return [
    '# Exit codes',
    '',
    MADE,
    '',
    'One table for every command. `holdfast help exit-codes` prints it, with `--json` for programs.',
    '',
    '| code | name | meaning |',
    '|---:|---|---|',
    ...rows.map(({ code, name, meaning }) => `| ${code} | ${name} | ${meaning} |`),
    '',
    '## The end of a run',
    '',
    '`holdfast run` ends with 0 only for a finished run. What real runs ended with, for every kind of end: [run-matrix.md](../run-matrix.md).',
    '',
    '| code | when | it means | a Job should |',
    '|---|---|---|---|',
    ...ends.map(({ code, when, means, policy }) => `| ${code} | ${when} | ${means} | ${policy} |`),
    '',
    'In a Job with `restartPolicy: Never` these rules do that. Their order matters: a pod that was disrupted has an exit code too. For a',
    'PyTorchJob with the ExitCode policy, 143 and everything else from 128 on is retryable as it is. A trainer that ends with one of these numbers for',
    'reasons of its own is treated like that too: keep 5, 64, 65, 126, 127 and 143 out of its own exit codes. Which of the two it was is in the termination message.',
    '',
    '```yaml',
    podFailurePolicy,
    '```',
    '',
  ].join('\n');
}

interface ErrorRow {
  readonly exit: number;
  readonly title: string;
  readonly explain: string;
}

export function errorPage(codes: Readonly<Record<string, ErrorRow>>): string {
  return [
    '# Errors',
    '',
    MADE,
    '',
    'An error is printed on standard error as `error CODE: message`, followed by the way out where there is one; with `--json` as one line',
    '`{"error": {"code": …, "message": …, "hint": …}}`. The code is stable; `holdfast explain CODE` prints the text below.',
    '',
    ...Object.entries(codes).flatMap(([code, { exit, title, explain }]) => [
      `## ${code}`,
      '',
      `**${title}.** Exit code ${exit}.`,
      '',
      explain,
      '',
    ]),
  ].join('\n');
}

/** Effects in the order in which they decide the verdict, with what they do. */
const EFFECTS: readonly (readonly [Effect, string])[] = [
  ['in-progress', 'The verdict is IN_PROGRESS'],
  ['corrupt', 'The verdict is CORRUPT'],
  ['zombie', 'The verdict is ZOMBIE'],
  ['partial', 'The verdict is PARTIAL'],
  ['unreadable', 'The verdict is UNKNOWN'],
  ['security', 'A security finding beside the verdict'],
  ['warning', 'A warning; the verdict stays'],
  ['note', 'For information; the verdict stays'],
];

export function evidencePage(codes: Readonly<Record<string, EvidenceKind>>): string {
  const sections = EFFECTS.flatMap(([effect, heading]) => {
    const entries = Object.entries(codes).filter(([, kind]) => kind.effect === effect);
    if (entries.length === 0) return [];
    return [`## ${heading}`, '', ...entries.flatMap(([code, { title, explain }]) => [`### ${code}`, '', `**${title}.** ${explain}`, ''])];
  });
  return [
    '# Evidence',
    '',
    MADE,
    '',
    'What `holdfast verify` finds has a stable code. The groups stand in the order in which they decide the verdict: the first that has',
    'evidence wins. `holdfast explain CODE` prints the text of one code.',
    '',
    ...sections,
  ].join('\n');
}
