import { expect, it } from 'vitest';
import { FORGOTTEN, ROWS, notesWithCounting, readNotes } from './counting.ts';
import { storedTrace } from './store.ts';

it('no Job ignored the end of its pod', () => {
  expect(notesWithCounting(readNotes())).not.toContain(FORGOTTEN);
});

it('every row of the table of which exits count was recorded, for both kinds of Job', () => {
  const seen = ROWS.flatMap(({ plain, policy }) => [plain, policy]);
  for (const [name, job = 1] of seen) expect(storedTrace(name)?.always, name).toContain(`job ${job}: active 1`);
});

it('the table in the notes matches the stored traces; `npm run traces:record -- --list` writes it', () => {
  expect(readNotes()).toBe(notesWithCounting(readNotes()));
});
