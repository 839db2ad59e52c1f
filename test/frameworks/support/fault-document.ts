import { wrap } from '../../../src/cli/output/table.ts';
import { exceptionFor, isCovered } from '../../support/fault-exceptions.ts';
import type { Answered } from '../../support/fault-judgement.ts';
import { isFound } from '../../support/fault-run.ts';
import { FAULTS, type Fault } from '../../support/faults.ts';
import type { Outcome } from './loaders.ts';

/** Markdown wraps here; tables are excepted. */
const COLUMNS = 100;

/** One fault done to one fixture: what the loader and `verify` make of it. */
export interface Row extends Answered {
  readonly outcome: Outcome;
}

/** The text of docs/proofs/fault-matrix.md. */
export function faultMatrix(rows: readonly Row[], versions: ReadonlyMap<string, string>): string {
  const inGroup = (group: Fault['group']) => rows.filter(({ damaged }) => damaged.fault.group === group);
  return `# The fault matrix

This page shows which damage the frameworks' own loaders miss, and which \`holdfast verify\` finds.
The figures are [at the end](#counts).

We did every fault below to a copy of every whole checkpoint in \`test/fixtures/whole\`, which the
real frameworks wrote. Then we gave the copy to the framework's own loader and to \`holdfast verify\`.
A cell reads **loader → verify**.

| the loader | |
|---|---|
| *error* | refuses the checkpoint |
| *ok* | returns the right values |
| **silent** | returns wrong values without an error |
| *crash*, *hang* | crashes, or does not return |

For \`verify\` the cell has the verdict. Two verdicts, as in \`UNCHECKED / CORRUPT\`, are those of quick
and of \`--deep\`. \`UNCHECKED\` means that the format, as it was written, stores no checksum of these
bytes.

To damage the bytes of a tensor we find them without Holdfast. We search the files for the values
that the loader returns, and a place counts only when the loader's answer changes with it
(\`test/frameworks/tensor_places.py\`). The fixtures are small: −4 KiB takes at most a quarter of a
file, and 64 KiB of zeros take at most half of a tensor. The sparse tail needs files of more than 64
KiB; [kill-matrix.md](kill-matrix.md) has it for every format at full size.

## Damaged files

Done to the file that holds most of a tensor.

${wideTable(inGroup('bytes'))}

## Damaged values

${wideTable(inGroup('payload'))}

${FAULTS.filter(({ group }) => group === 'pieces')
  .map((fault) => pieceTable(fault, rows))
  .join('\n\n')}

## What \`verify\` cannot find, and why

${exceptions(rows)}

${counts(rows)}

## Made with

${wrap(
  `${[...versions]
    .map(([library, version]) => `${library} ${version}`)
    .sort()
    .join(', ')}.`,
  COLUMNS,
).join('\n')}

\`UPDATE_DOCS=1 npm run test:frameworks\` makes this page again. Without \`UPDATE_DOCS\` it compares the
page with what \`verify\` says.
`;
}

/** The document without what depends on the loaders' versions. */
export function verifyPart(document: string): string {
  return document
    .replaceAll(/(\*\*silent\*\*|error|ok|crash|hang) →/g, '→')
    .replaceAll(/\| (\*\*silent\*\*|error|ok|crash|hang) \|/g, '| |')
    .replace(/\n## Counts[^]*$/, '');
}

/** One line for each file, one column for each fault. */
function wideTable(rows: readonly Row[]): string {
  const faults = [...new Set(rows.map(({ damaged }) => damaged.fault))];
  const lines = Map.groupBy(rows, ({ damaged }) => `${damaged.subject.fixture.id}\0${damaged.damage.file}`);
  const body = [...lines.values()].map((line) => {
    const [first] = line;
    const cells = faults.map((fault) => line.find(({ damaged }) => damaged.fault === fault));
    return `| ${first?.damaged.subject.fixture.id} | ${name(first?.damaged.damage.file ?? '')} | ${cells.map((row) => (row === undefined ? '' : cell(row))).join(' | ')} |`;
  });
  const title = ['Checkpoint', 'File', ...faults.map((fault) => fault.title)];
  return [`| ${title.join(' | ')} |`, `|${title.map(() => '---|').join('')}`, ...body].join('\n');
}

function pieceTable(fault: Fault, all: readonly Row[]): string {
  const rows = all.filter(({ damaged }) => damaged.fault === fault);
  const body = rows.map((row) => {
    const { subject, damage } = row.damaged;
    return `| ${subject.fixture.id} | ${name(damage.file)} | ${loader(row)} | ${verdicts(row)} | ${row.quick.codes.join(', ')} |`;
  });
  const title = `## ${fault.title[0]?.toUpperCase()}${fault.title.slice(1)}`;
  return [title, '', '| Checkpoint | File | Loader | verify | Evidence |', '|---|---|---|---|---|', ...body].join('\n');
}

function exceptions(rows: readonly Row[]): string {
  const lines = rows.flatMap(({ damaged }) => {
    const exception = exceptionFor(damaged);
    if (exception === null) return [];
    const instead = { deep: '`--deep` finds it', warning: '`verify` warns', nothing: '`verify` finds nothing' }[exception.instead];
    return [`| ${damaged.subject.fixture.id} | ${damaged.fault.title} | ${name(damaged.damage.file)} | ${instead} | ${exception.reason} |`];
  });
  return ['| Checkpoint | Fault | File | Instead | Why |', '|---|---|---|---|---|', ...lines].join('\n');
}

function counts(rows: readonly Row[]): string {
  const having = (outcome: Outcome) => rows.filter((row) => row.outcome === outcome);
  const silent = having('silent');
  const found = (level: 'quick' | 'deep') => silent.filter((row) => isFound(row[level], row.damaged.subject));
  const missed = silent.filter((row) => !isFound(row.deep, row.damaged.subject));
  const withoutChecksum = missed.filter(({ damaged }) => damaged.fault.kind === 'payload' && !isCovered(damaged));
  return `## Counts

Of ${rows.length} faults the loaders refuse ${having('error').length}. In ${having('ok').length} they return the right values all the same, and they
crash or hang on ${having('crash').length + having('hang').length}. **They load ${silent.length} without an error, and wrong.** Of these, \`verify\` finds ${found('quick').length} at
quick and ${found('deep').length} with \`--deep\`. It cannot find ${missed.length}: in ${withoutChecksum.length} of them the format stores no checksum of the
damaged values, and the other ${missed.length - withoutChecksum.length} are listed above.`;
}

function cell(row: Row): string {
  return `${loader(row)} → ${verdicts(row)}`;
}

function loader({ outcome }: Row): string {
  return outcome === 'silent' ? '**silent**' : outcome;
}

function verdicts({ quick, deep }: Row): string {
  const shown = (verdict: string) => (verdict === 'ABSENT' ? 'not a checkpoint' : verdict);
  return quick.verdict === deep.verdict ? shown(quick.verdict) : `${shown(quick.verdict)} / ${shown(deep.verdict)}`;
}

/** Without the folder that all share, and with random names cut short. */
function name(file: string): string {
  return `\`${file.replace(/^data\//, '').replaceAll(/[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}/g, (random) => `${random.slice(0, 8)}…`)}\``;
}
