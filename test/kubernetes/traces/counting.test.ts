import { expect, it } from 'vitest';
import { ROWS, notesWithCounting, readNotes, verdictOf } from './counting.ts';
import { storedTrace } from './store.ts';

it('a Job that counts a success is complete, one that counts a failure has counted, and one that counts neither has not', () => {
  expect(verdictOf({ always: ['job 1: succeeded 1'], sometimes: [] }, 1)).toBe('**complete**');
  expect(verdictOf({ always: ['job 1: succeeded 1', 'job 2: failed 1'], sometimes: [] }, 2)).toBe('counted');
  expect(verdictOf({ always: ['job 2: failed 1'], sometimes: [] }, 1)).toBe('not counted');
  expect(verdictOf({ always: [], sometimes: ['job 1: failed 1', 'job 1: succeeded 1'] }, 1)).toBe('**complete** or counted, by chance');
  expect(verdictOf({ always: [], sometimes: ['job 1: succeeded 1'] }, 1)).toBe('**complete** or not counted, by chance');
});

it('every row of the table of which exits count was recorded, for both kinds of Job', () => {
  const seen = ROWS.flatMap(({ plain, policy }) => [plain, policy]);
  for (const [name, job = 1] of seen) expect(storedTrace(name)?.always, name).toContain(`job ${job}: active 1`);
});

it('the table in the notes is what the stored traces say; `npm run traces:record -- --list` writes it', () => {
  expect(readNotes()).toBe(notesWithCounting(readNotes()));
});
