import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Outcome } from './interrupted-run.ts';
import { GIVEN_UP, LOSS_CAUSES } from './loss-causes.ts';
import { PAGE, type Recorded, inOrder, keyOf, keysIn, markOf, notesTable, rowsIn, tableOn } from './notes.ts';
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

/** Every row of a table, as if the tests had recorded it. */
const allOf = (name: TableName): readonly Recorded[] => TABLES[name].map((key) => ({ ...key, outcome: WENT_ON, isFinished: true }));

it.each(NAMES)('the table of %s is whole only if every row of it was recorded, in any order', (name) => {
  const all = allOf(name);
  expect(inOrder(name, all.toReversed())).toEqual({ rows: all, missing: [] });
  expect(inOrder(name, all.slice(1)).missing).toEqual(TABLES[name].slice(0, 1));
});

it.each(NAMES.flatMap((name) => [1, 2].map((cgroups) => [name, cgroups] as const)))(
  'the page’s table of %s, cgroup v%s, has the causes and trainers of the tests, if it was recorded',
  (name, cgroups) => {
    const table = tableOn(readFileSync(PAGE, 'utf8'), markOf(name, cgroups));
    if (table === '') expect(cgroups).toBe(2);
    else expect(keysIn(table)).toEqual(TABLES[name].map(keyOf));
    expect(keysIn(notesTable(allOf(name), ON, WHEN))).toEqual(TABLES[name].map(keyOf));
  },
);

it.each([...CAUSES, GIVEN_UP, ...LOSS_CAUSES])('the page claims of a supervised run only what the tests demand: $title', (cause) => {
  const page = readFileSync(PAGE, 'utf8');
  const rows = NAMES.flatMap((name) => [1, 2].flatMap((cgroups) => rowsIn(tableOn(page, markOf(name, cgroups)))));
  const own = rows.filter(({ cause: title, trainer }) => title === cause.title && trainer.startsWith('under'));
  expect(own.length).toBeGreaterThan(0);
  for (const { believed, exitCode, phase, said, training } of own) {
    const codes = cause.exitCodes.map((code) => String(code ?? 'none'));
    expect(said.includes('ContainerStatusUnknown') ? [...codes, '137'] : codes).toContain(exitCode);
    expect(['', 'none', String(cause.believesSeconds ?? GRACE_SECONDS)]).toContain(believed);
    expect(phase).toBe('Failed');
    expect(training).toMatch(/^finished, equal to its twin; resumed at step (401|411)$/);
  }
});
