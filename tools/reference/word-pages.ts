import { END_CAUSES } from '../../src/domain/causes/catalogue.ts';
import type { CauseKind } from '../../src/domain/causes/cause-kind.ts';
import { EVIDENCE_SOURCES } from '../../src/evidence/catalogue.ts';
import { type Cause, CAUSES } from '../../src/domain/grace/notice.ts';
import { CAUSE_MEANINGS } from '../../src/domain/grace/cause-meanings.ts';
import { VERDICT_MEANINGS, type VerdictMeaning } from '../../src/verify/verdict-meanings.ts';
import { wrap } from '../../src/cli/output/table.ts';

/** Markdown wraps here. */
const COLUMNS = 100;

const MADE = '<!-- Made by `npm run docs` from the tables in the source: change those, not this page. -->';

/**
 * docs/reference/verdicts.md: each verdict with its evidence, and each evidence with the reader
 * that finds it.
 */
export function verdictPage(): string {
  return [
    '# Verdicts',
    '',
    MADE,
    '',
    ...wrap(
      'The result of `holdfast verify` for a checkpoint. `holdfast explain ZOMBIE` prints the text of one verdict, and [evidence.md](evidence.md) explains each code. The rule that picks a verdict is `src/verify/verdict.ts`.',
      COLUMNS,
    ),
    '',
    ...Object.entries(VERDICT_MEANINGS).flatMap(([verdict, meaning]) => [
      `## ${verdict}`,
      '',
      ...wrap(`**${meaning.title}.** ${meaning.explain}`, COLUMNS),
      '',
      ...wrap(`What to do: ${meaning.advice}`, COLUMNS),
      '',
      ...evidenceTable(meaning),
    ]),
  ].join('\n');
}

function evidenceTable({ effect }: VerdictMeaning): readonly string[] {
  if (effect === null) return ['It follows when no evidence speaks against the checkpoint.', ''];
  const rows = EVIDENCE_SOURCES.flatMap(({ about, readers, codes }) => {
    const found = Object.entries(codes).flatMap(([code, kind]) =>
      kind.effect === effect ? [`[${code}](evidence.md#${code.toLowerCase()})`] : [],
    );
    return found.length === 0
      ? []
      : [
          `| ${about} | ${found.join(', ')} | ${readers.length === 0 ? 'all readers' : readers.map((reader) => `\`src/${reader}\``).join(', ')} |`,
        ];
  });
  return ['| about | evidence that leads to it | found by |', '|---|---|---|', ...rows, ''];
}

/** docs/reference/causes.md. */
export function causePage(): string {
  return [
    '# Causes of an interruption',
    '',
    MADE,
    '',
    ...wrap(
      'The causes of notices: the field `cause` of the [ledger](ledger.md), of the [status](status.md) and of the termination message. `holdfast explain aws-spot` prints the text of one cause. The remaining time is the shortest of a [chain of limits](../run.md). The column *leaves* shows the limit of the cause alone.',
      COLUMNS,
    ),
    '',
    '| cause | called | what it does | leaves |',
    '|---|---|---|---|',
    ...(Object.keys(CAUSES) as Cause[]).map((cause) => {
      const { label, terminating, usualGraceMs } = CAUSES[cause];
      const leaves = !terminating ? '—' : usualGraceMs === null ? 'the grace' : `${usualGraceMs / 1000} s`;
      return `| \`${cause}\` | ${label} | ${terminating ? 'ends the attempt' : 'asks for a save'} | ${leaves} |`;
    }),
    '',
    ...Object.entries(CAUSE_MEANINGS).flatMap(([cause, { explain, advice }]) => [
      `## ${cause}`,
      '',
      ...wrap(explain, COLUMNS),
      '',
      ...wrap(`What to do: ${advice}`, COLUMNS),
      '',
    ]),
  ].join('\n');
}

const FAMILIES: Readonly<Record<CauseKind['family'], string>> = {
  interruption: 'Interruptions: the program did not cause them',
  limit: 'Limits that the manifest sets',
  program: 'The program itself',
  'never-ran': 'Nothing ran',
  none: 'No cause',
};

/** docs/reference/ends.md: every code of `why`, by what kind of end it is. */
export function endPage(): string {
  const groups = (Object.keys(FAMILIES) as CauseKind['family'][]).flatMap((family) => {
    const own = Object.entries<CauseKind>(END_CAUSES).filter(([, cause]) => cause.family === family);
    const sections = own.flatMap(([code, { title, explain }]) => [`### ${code}`, '', `*${title}*`, '', ...wrap(explain, COLUMNS), '']);
    return [`## ${FAMILIES[family]}`, '', ...sections];
  });
  const intro = 'The stable codes of `holdfast why`. `holdfast explain API_EVICTION` prints the text of one.';
  return ['# What ends a pod', '', MADE, '', intro, '', ...groups].join('\n');
}
