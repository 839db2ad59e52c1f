import { JOB_ACTIONS } from '../../../core/exit-advice.ts';
import type { Effect } from '../../../evidence/codes/kind.ts';
import type { Output } from '../../output/output.ts';
import { renderList, wrap } from '../../output/table.ts';
import type { CauseEntry, Entry, VerdictEntry } from './entries.ts';

type Look = Pick<Output, 'style' | 'columns'>;

const EFFECTS: Readonly<Record<Effect, string>> = {
  'in-progress': 'makes the verdict IN_PROGRESS',
  corrupt: 'makes the verdict CORRUPT',
  zombie: 'makes the verdict ZOMBIE',
  partial: 'makes the verdict PARTIAL',
  unreadable: 'makes the verdict UNKNOWN',
  warning: 'warns; does not change the verdict',
  note: 'is information; does not change the verdict',
  security: 'is a security finding beside the verdict; exit code 4 with --strict',
};

/** One entry at length, for a person. */
export function renderEntry(entry: Entry, { style, columns }: Look): readonly string[] {
  return [
    `${style.bold(entry.code)}: ${entry.title}`,
    ...wrap(sentenceOf(entry), columns).map((line) => style.dim(line)),
    '',
    ...wrap(entry.explain, columns),
    ...adviceLines(entry, { style, columns }),
    ...(entry.kind === 'verdict' ? evidenceLines(entry, { style, columns }) : []),
  ];
}

/** Every entry in groups, a line or two each. */
export function renderEntries(entries: readonly Entry[], { style, columns }: Look): readonly string[] {
  const evidence = Object.entries(EFFECTS).map(
    ([effect, text]) => [`Evidence that ${text}`, (entry: Entry) => entry.kind === 'evidence' && entry.effect === effect] as const,
  );
  const groups: readonly (readonly [string, (entry: Entry) => boolean])[] = [
    ['Verdicts', ({ kind }) => kind === 'verdict'],
    ...evidence,
    ['Findings of lint', ({ kind }) => kind === 'rule'],
    ['Errors', ({ kind }) => kind === 'error'],
    ['Exit codes', ({ kind }) => kind === 'exit'],
    ['Causes of an interruption', (entry) => entry.kind === 'cause' && entry.terminating],
    ['What can end a pod (holdfast why)', ({ kind }) => kind === 'end'],
    ['Causes that only ask for a save', (entry) => entry.kind === 'cause' && !entry.terminating],
  ];
  return groups.flatMap(([heading, isIn]) => {
    const items = entries.filter(isIn).map(({ code, title }) => [code, title] as const);
    return items.length === 0 ? [] : [style.bold(`${heading}:`), ...renderList(items, columns), ''];
  });
}

/** What kind of thing it is, and what follows from it. */
function sentenceOf(entry: Entry): string {
  switch (entry.kind) {
    case 'evidence':
      return `This code ${EFFECTS[entry.effect]}.`;
    case 'rule':
      return `This code is a finding of holdfast lint; severity ${entry.severity}.`;
    case 'error':
      return `This code is an error; exit code ${entry.exit}.`;
    case 'verdict':
      return entry.evidence.length === 0
        ? 'This verdict follows when no evidence speaks against the checkpoint.'
        : 'This verdict follows from the evidence listed below.';
    case 'exit':
      return entry.name === null ? 'This is an exit code that Holdfast never gives by itself.' : 'This is an exit code of Holdfast.';
    case 'cause':
      return causeSentence(entry);
    case 'end':
      return '`holdfast why` names this cause for a pod that ended.';
  }
}

function causeSentence({ terminating, usualGraceSeconds }: CauseEntry): string {
  const grace = usualGraceSeconds === null ? 'leaves the time that the process was promised' : `leaves ${usualGraceSeconds} seconds`;
  return terminating
    ? `This cause ends the attempt, and ${grace} unless the notice says when.`
    : 'This cause asks for a save, and ends nothing.';
}

function adviceLines(entry: Entry, { style, columns }: Look): readonly string[] {
  if (entry.kind === 'evidence' || entry.kind === 'error' || entry.kind === 'end') return [];
  const items: (readonly [string, string])[] = [['What to do', entry.advice]];
  if (entry.kind === 'exit' && entry.job !== null) items.push(['A Kubernetes Job', JOB_ACTIONS[entry.job]]);
  return items.flatMap(([heading, text]) => ['', style.bold(`${heading}:`), ...wrap(text, columns - 2).map((line) => `  ${line}`)]);
}

function evidenceLines({ evidence }: VerdictEntry, { style, columns }: Look): readonly string[] {
  if (evidence.length === 0) return [];
  const items = evidence.map(({ about, codes }) => [about, codes.join(' ')] as const);
  return ['', style.bold('Evidence that leads to it:'), ...renderList(items, columns)];
}
