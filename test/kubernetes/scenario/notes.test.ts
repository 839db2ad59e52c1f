import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Outcome } from './interrupted-run.ts';
import { GIVEN_UP, LOSS_CAUSES } from './loss-causes.ts';
import { PAGE, type Recorded, inOrder, keyOf, keysIn, markOf, notesTable, pageWith, rowsIn, tableOn } from './notes.ts';
import { CAUSES, TABLES, type TableName } from './recorded-tables.ts';
import { GRACE_SECONDS } from './training-job.ts';

const OUTCOME: Outcome = {
  phase: 'Succeeded',
  exitCode: 0,
  containerReason: 'Completed',
  podReason: null,
  disruption: 'TerminationByKubelet',
  message: '',
  firstNode: 'node-1',
  nextNode: null,
  resumedWith: null,
  job: 'Complete',
  failures: 0,
  isJobGone: false,
  ledger: null,
  last: null,
  supervisor: null,
  result: null,
};
const WENT_ON = {
  ...OUTCOME,
  phase: 'Failed',
  exitCode: 143,
  containerReason: 'Error',
  disruption: null,
  nextNode: 'node-2',
  resumedWith: 111,
};

const ON = { version: 'v1.35.8', runtime: 'containerd://1.6.20', cgroups: 1 };
const WHEN = new Date('2026-11-18T01:02:03Z');
const NAMES = Object.keys(TABLES) as readonly TableName[];

/** Every row of a table, as if it had been seen. */
const allOf = (name: TableName): readonly Recorded[] => TABLES[name].map((key) => ({ ...key, outcome: WENT_ON, isFinished: true }));

function lastLine(recorded: Recorded): string | undefined {
  return notesTable([recorded], ON, WHEN).split('\n').at(-1);
}

it('the table says where it was recorded, and when', () => {
  const table = notesTable([], { ...ON, cgroups: 2 }, WHEN);
  expect(table).toMatch(/^Kubernetes v1\.35\.8, containerd 1\.6\.20, cgroup v2, on 2026-11-18:$/m);
});

it('a run that was called complete and never finished stands out in the table', () => {
  expect(lastLine({ cause: 'evicted', manner: 'bare', outcome: OUTCOME, isFinished: false, grace: 2.04 })).toBe(
    '| evicted | 2.0 | bare |  | 0 | Succeeded | Completed, DisruptionTarget/TerminationByKubelet | Complete | **never finished** |',
  );
});

it('a run that went on says with which step, and one that was never told to end says so', () => {
  expect(lastLine({ cause: 'deleted', manner: 'binary', outcome: WENT_ON, isFinished: true, grace: null })).toContain(
    '| none | under `holdfast run`, one executable | none | 143 | Failed | Error | Complete | finished, equal to its twin; went on with step 111 |',
  );
});

it('failures that the Job counts are told, and that it is gone', () => {
  const outcome = { ...WENT_ON, failures: 2, isJobGone: true };
  expect(lastLine({ cause: 'deleted', manner: 'bare', outcome, isFinished: true })).toContain(
    '| Complete, 2 counted as failed, then gone |',
  );
});

it('a run that nobody interrupted says so', () => {
  expect(lastLine({ cause: 'away', manner: 'bare', outcome: OUTCOME, isFinished: true })).toMatch(
    /\| away \| {2}\| .*was not interrupted \|$/,
  );
});

it('a table takes the place of the one of its own name and version of control groups, and of no other', () => {
  const marked = (name: string, text: string): string => `<!-- recorded ${name}: begin -->\n\n${text}\n\n<!-- recorded ${name}: end -->\n`;
  const page = (one: string, two: string): string => `# Notes\n\n${marked('causes, cgroup v1', one)}\n${marked('causes, cgroup v2', two)}`;
  expect(pageWith(page('a', 'b'), 'causes, cgroup v2', 'c')).toBe(page('a', 'c'));
  expect(() => pageWith(page('a', 'b'), 'node loss, cgroup v2', 'c')).toThrow(
    'lacks the marks <!-- recorded node loss, cgroup v2: begin -->',
  );
});

it.each(NAMES)('the table of %s is whole when every row of it was recorded, in whichever order, and only then', (name) => {
  const all = allOf(name);
  expect(inOrder(name, all.toReversed())).toEqual({ rows: all, missing: [] });
  expect(inOrder(name, all.slice(1)).missing).toEqual(TABLES[name].slice(0, 1));
});

it.each(NAMES.flatMap((name) => [1, 2].map((cgroups) => [name, cgroups] as const)))(
  'the page’s table of %s, cgroup v%s, has the causes and trainers that the tests have, where it was recorded',
  (name, cgroups) => {
    const table = tableOn(readFileSync(PAGE, 'utf8'), markOf(name, cgroups));
    if (table === '') expect(cgroups).toBe(2);
    else expect(keysIn(table)).toEqual(TABLES[name].map(keyOf));
    expect(keysIn(notesTable(allOf(name), ON, WHEN))).toEqual(TABLES[name].map(keyOf));
  },
);

it.each([...CAUSES, GIVEN_UP, ...LOSS_CAUSES])('the page says of a supervised run only what is demanded of it: $title', (cause) => {
  const page = readFileSync(PAGE, 'utf8');
  const rows = NAMES.flatMap((name) => [1, 2].flatMap((cgroups) => rowsIn(tableOn(page, markOf(name, cgroups)))));
  const own = rows.filter(({ cause: title, trainer }) => title === cause.title && trainer.startsWith('under'));
  expect(own.length).toBeGreaterThan(0);
  for (const { believed, exitCode, phase, said, training } of own) {
    const codes = cause.exitCodes.map((code) => String(code ?? 'none'));
    expect(said.includes('ContainerStatusUnknown') ? [...codes, '137'] : codes).toContain(exitCode);
    expect(['', 'none', String(cause.believesSeconds ?? GRACE_SECONDS)]).toContain(believed);
    expect(phase).toBe('Failed');
    expect(training).toMatch(/^finished, equal to its twin; went on with step (401|411)$/);
  }
});
