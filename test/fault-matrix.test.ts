import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { faultMatrix, type Row, verifyPart } from './frameworks/support/fault-document.ts';
import { answers, complaint } from './support/fault-judgement.ts';
import { damageAll } from './support/fault-run.ts';
import { readSubjects } from './support/fault-subjects.ts';
import { WHOLE } from './support/fixtures.ts';
import { tempFolder } from './support/temp-folder.ts';

const DOCUMENT = join(import.meta.dirname, '..', 'docs', 'proofs', 'fault-matrix.md');
const subjects = readSubjects();
const rows: Row[] = [];

describe.each(subjects.map((subject) => ({ id: subject.fixture.id, subject })))('faults done to $id', ({ id, subject }) => {
  it('are found at the documented level', async () => {
    using scratch = tempFolder();
    const damaged = damageAll(subject, join(WHOLE, id), scratch.path);
    const answered = await answers(damaged);
    expect(answered.flatMap((answer) => complaint(answer))).toEqual([]);
    expect(damaged.length).toBeGreaterThan(0);
    // The result of the loader is not known here and stays out of the comparison below.
    rows.push(...answered.map((row) => ({ ...row, outcome: 'ok' as const })));
  });
});

describe('docs/proofs/fault-matrix.md', () => {
  it('shows the results of verify', ({ skip }) => {
    if (new Set(rows.map(({ damaged }) => damaged.subject)).size < subjects.length) skip('only some of the checkpoints were asked about');
    const versions = new Map(subjects.flatMap(({ fixture }) => Object.entries(fixture.versions)));
    expect(verifyPart(faultMatrix(rows, versions))).toBe(verifyPart(readFileSync(DOCUMENT, 'utf8')));
  });
});
