import { describe, expect, it } from 'vitest';
import { FORGOTTEN, ROWS, notesWithCounting, readNotes, verdictOf } from './counting.ts';
import { storedTrace } from './store.ts';

describe('what a Job makes of its first pod, where its next is pod 2', () => {
  const [SUCCEEDED, FAILED, NEXT] = ['job 1: succeeded 1', 'job 1: failed 1', 'pod 2: phase Pending'];

  it.each([
    { always: [SUCCEEDED], sometimes: [], verdict: '**complete**' },
    { always: [SUCCEEDED], sometimes: [FAILED, NEXT], verdict: '**complete**, counted before that by chance' },
    { always: [SUCCEEDED, FAILED, NEXT], sometimes: [], verdict: 'counted, and **complete** later' },
    { always: [FAILED], sometimes: [], verdict: 'counted' },
    { always: [FAILED, NEXT], sometimes: [], verdict: 'counted' },
    { always: [FAILED, NEXT], sometimes: [SUCCEEDED], verdict: 'counted, **complete** later by chance' },
    { always: [], sometimes: [FAILED, SUCCEEDED], verdict: '**complete** or counted, by chance' },
    { always: [], sometimes: [SUCCEEDED, NEXT], verdict: '**complete** or not counted, by chance' },
    { always: [NEXT], sometimes: [FAILED], verdict: 'counted or not counted, by chance' },
    { always: [], sometimes: [FAILED, NEXT], verdict: 'counted or not counted, by chance' },
    { always: [NEXT], sometimes: [], verdict: 'not counted' },
  ])('$always always, $sometimes sometimes: $verdict', ({ always, sometimes, verdict }) => {
    expect(verdictOf({ always, sometimes }, { job: 1, next: 2 })).toBe(verdict);
  });

  it.each([
    { always: [], sometimes: [] },
    { always: [], sometimes: [NEXT] },
    { always: [], sometimes: [SUCCEEDED] },
    { always: [], sometimes: [FAILED] },
    { always: ['pod 3: phase Pending', 'job 2: failed 1'], sometimes: ['job 2: succeeded 1'] },
  ])('is told when nothing shows that it went on: $always always, $sometimes sometimes', ({ always, sometimes }) => {
    expect(verdictOf({ always, sometimes }, { job: 1, next: 2 })).toBe(FORGOTTEN);
  });

  it('of another Job and its next pod, by theirs', () => {
    const trace = { always: [SUCCEEDED, 'job 2: failed 1'], sometimes: [] };
    expect([1, 2].map((job) => verdictOf(trace, { job, next: 9 }))).toEqual(['**complete**', 'counted']);
    expect(verdictOf({ always: [FAILED, 'pod 3: phase Pending'], sometimes: [] }, { job: 2, next: 3 })).toBe('not counted');
  });
});

it('no Job was seen to take no notice of the end of its pod', () => {
  expect(notesWithCounting(readNotes())).not.toContain(FORGOTTEN);
});

it('every row of the table of which exits count was recorded, for both kinds of Job', () => {
  const seen = ROWS.flatMap(({ plain, policy }) => [plain, policy]);
  for (const [name, job = 1] of seen) expect(storedTrace(name)?.always, name).toContain(`job ${job}: active 1`);
});

it('the table in the notes is what the stored traces say; `npm run traces:record -- --list` writes it', () => {
  expect(readNotes()).toBe(notesWithCounting(readNotes()));
});
