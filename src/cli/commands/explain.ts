import type { EvidenceKind } from '../../checkpoint/evidence/evidence.ts';
import { ERROR_CODES } from '../../core/error-codes.ts';
import { HoldfastError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-codes.ts';
import { excerpt } from '../../core/printable.ts';
import { defineCommand } from '../command.ts';
import type { Output } from '../output/output.ts';
import { renderList, wrap } from '../output/table.ts';
import { didYouMean } from '../suggest.ts';

/** A code with everything that is said about it, whichever catalogue it is from. */
interface Explained {
  readonly code: string;
  readonly kind: 'evidence' | 'error';
  /** What it does to a verdict; null for errors. */
  readonly effect: EvidenceKind['effect'] | null;
  /** The exit code; null for evidence. */
  readonly exit: number | null;
  readonly title: string;
  readonly explain: string;
}

const EFFECTS: Readonly<Record<EvidenceKind['effect'], string>> = {
  'in-progress': 'makes the verdict IN_PROGRESS',
  corrupt: 'makes the verdict CORRUPT',
  zombie: 'makes the verdict ZOMBIE',
  partial: 'makes the verdict PARTIAL',
  unreadable: 'makes the verdict UNKNOWN',
  warning: 'warns; does not change the verdict',
  note: 'is told for information; does not change the verdict',
  security: 'is a security finding beside the verdict; exit code 4 with --strict',
};

export const explain = defineCommand({
  description:
    'Explains a code at length: what it means, how it comes about, what to do. Without a code, lists all of them; with --quiet the bare codes.',
  operand: {
    name: 'CODE',
    description: 'a code as printed by holdfast, such as FILE_EMPTY',
    count: 'optional',
    complete: { lines: 'explain --quiet' },
  },
  options: {},
  examples: [
    { line: 'explain FILE_SPARSE', description: 'what this evidence means' },
    { line: 'explain', description: 'all codes, by what they do' },
    { line: 'explain --json', description: 'the whole catalogue for a program' },
  ],
  async run({ operands: [code], output }) {
    const all = await catalogue();
    if (code === undefined) list(all, output);
    else describe(find(code, all), output);
    return EXIT.ok;
  },
});

async function catalogue(): Promise<readonly Explained[]> {
  const { EVIDENCE_CODES } = await import('../../checkpoint/evidence/catalogue.ts');
  const evidence = Object.entries<EvidenceKind>(EVIDENCE_CODES).map(
    ([code, { effect, title, explain: text }]): Explained => ({ code, kind: 'evidence', effect, exit: null, title, explain: text }),
  );
  const errors = Object.entries(ERROR_CODES).map(
    ([code, { exit, title, explain: text }]): Explained => ({ code, kind: 'error', effect: null, exit, title, explain: text }),
  );
  return [...evidence, ...errors];
}

function find(code: string, all: readonly Explained[]): Explained {
  const wanted = code.toUpperCase().replaceAll('-', '_');
  const found = all.find((entry) => entry.code === wanted);
  if (found !== undefined) return found;
  const codes = all.map((entry) => entry.code);
  throw new HoldfastError('USAGE', {
    message: `there is no code "${excerpt(code, 40)}".${didYouMean(wanted, codes)}`,
    hint: '`holdfast explain` lists all codes.',
  });
}

function describe(entry: Explained, output: Output): void {
  const { style, columns } = output;
  if (output.json) return output.printJson(entry);
  const effect = entry.effect === null ? `is an error; exit code ${entry.exit}` : EFFECTS[entry.effect];
  output.print(`${style.bold(entry.code)}: ${entry.title}`, style.dim(`This code ${effect}.`), '', ...wrap(entry.explain, columns));
}

function list(all: readonly Explained[], output: Output): void {
  if (output.json) return output.printJson({ codes: all });
  if (output.quiet) return output.print(...all.map(({ code }) => code));
  const { style, columns } = output;
  const groups = [
    ...Object.entries(EFFECTS).map(([effect, text]) => [`Evidence that ${text}`, effect] as const),
    ['Errors', null] as const,
  ];
  for (const [heading, effect] of groups) {
    const entries = all.filter((entry) => entry.effect === effect);
    if (entries.length === 0) continue;
    const items = entries.map(({ code, title }) => [code, title] as const);
    output.print(style.bold(`${heading}:`), ...renderList(items, columns), '');
  }
  output.note('`holdfast explain CODE` tells more about one of them.');
}
