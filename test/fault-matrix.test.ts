import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answers, complaint } from './support/fault-judgement.ts';
import { damageAll } from './support/fault-run.ts';
import { readSubjects } from './support/fault-subjects.ts';
import { WHOLE } from './support/fixtures.ts';
import { tempFolder } from './support/temp-folder.ts';

const subjects = readSubjects();

describe.each(subjects.map((subject) => ({ id: subject.fixture.id, subject })))('faults done to $id', ({ id, subject }) => {
  it('are found at the level that owes it', async () => {
    using scratch = tempFolder();
    const damaged = damageAll(subject, join(WHOLE, id), scratch.path);
    const wrong = (await answers(damaged)).flatMap((answer) => complaint(answer));
    expect(wrong).toEqual([]);
    expect(damaged.length).toBeGreaterThan(0);
  });
});
