import type { Effect, EvidenceKind } from '../../src/evidence/codes/kind.ts';
import { wrap } from '../../src/cli/output/table.ts';

/** Markdown wraps here; tables are excepted. */
const COLUMNS = 100;

const MADE = '<!-- Made by `npm run docs` from the tables in the source: change those, not this page. -->';

interface ExitCodeRow {
  readonly code: number;
  readonly name: string;
  readonly meaning: string;
}

interface ExitAdviceRow {
  readonly code: number;
  readonly script: string;
  /** The action of a podFailurePolicy; null where `run` does not end with the code. */
  readonly job: string | null;
}

interface RunEndRow {
  readonly code: string;
  readonly when: string;
  readonly means: string;
  readonly policy: string;
}

/** The exit codes of `holdfast run`, and the rules of a Job that fit them. */
interface RunContract {
  readonly ends: readonly RunEndRow[];
  readonly podFailurePolicy: string;
}

/** docs/reference/exit-codes.md. */
export function exitCodePage(
  rows: readonly ExitCodeRow[],
  advice: readonly ExitAdviceRow[],
  { ends, podFailurePolicy }: RunContract,
): string {
  return [
    '# Exit codes',
    '',
    MADE,
    '',
    'One table for every command. `holdfast help exit-codes` prints it, with `--json` for programs.',
    '',
    '| code | name | meaning |',
    '|---:|---|---|',
    ...rows.map(({ code, name, meaning }) => `| ${code} | ${name} | ${meaning.replaceAll('|', '\\|')} |`),
    '',
    '## What to do about each',
    '',
    ...wrap(
      '`holdfast explain 143` prints the line of one code. It accepts any number from 0 to 255, also the codes of a signal or of the trainer.',
      COLUMNS,
    ),
    '',
    '| code | a script, or a person, should | a Job should |',
    '|---:|---|---|',
    ...advice.map(({ code, script, job }) => `| ${code} | ${script} | ${job ?? '—'} |`),
    '',
    '## The end of a run',
    '',
    ...wrap(
      '`holdfast run` exits with 0 only for a finished run. [run-matrix.md](../proofs/run-matrix.md) lists the exit codes of real runs, for every kind of end.',
      COLUMNS,
    ),
    '',
    '| code | when | it means | a Job should |',
    '|---|---|---|---|',
    ...ends.map(({ code, when, means, policy }) => `| ${code} | ${when} | ${means} | ${policy} |`),
    '',
    'For a Job with `restartPolicy: Never`, use the rules below. Their order matters: a pod that was',
    'disrupted also has an exit code. A PyTorchJob with the ExitCode policy needs no rules: there, every',
    'code from 128 on, and so 143, is retryable.',
    '',
    'A trainer must not use the exit codes 5, 64, 65, 126, 127 and 143 for its own errors: Kubernetes',
    'would treat them in the same way. The termination message shows whose code it was.',
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
    ...wrap(
      'Holdfast prints an error on standard error as `error CODE: message`, followed by a hint if there is one. With `--json` it prints one line: `{"error": {"code": …, "message": …, "hint": …}}`. The code is stable. `holdfast explain CODE` prints the text below.',
      COLUMNS,
    ),
    '',
    ...Object.entries(codes).flatMap(([code, { exit, title, explain }]) => [
      `## ${code}`,
      '',
      `**${title}.** Exit code ${exit}.`,
      '',
      ...wrap(explain, COLUMNS),
      '',
    ]),
  ].join('\n');
}

/** The headings of the effects, in the order in which they decide the verdict. */
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
    return [
      `## ${heading}`,
      '',
      ...entries.flatMap(([code, { title, explain }]) => [`### ${code}`, '', ...wrap(`**${title}.** ${explain}`, COLUMNS), '']),
    ];
  });
  return [
    '# Evidence',
    '',
    MADE,
    '',
    ...wrap(
      'Everything that `holdfast verify` finds has a stable code. The groups below are in the order in which they decide the verdict: the first group with evidence wins ([verdicts.md](verdicts.md)). `holdfast explain CODE` prints the text of one code.',
      COLUMNS,
    ),
    '',
    ...sections,
  ].join('\n');
}
