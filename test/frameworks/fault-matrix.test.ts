import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { exceptionFor, isCovered } from '../support/fault-exceptions.ts';
import { answers, complaint } from '../support/fault-judgement.ts';
import { type Damaged, damageAll, isFound } from '../support/fault-run.ts';
import { readSubjects } from '../support/fault-subjects.ts';
import { WHOLE } from '../support/fixtures.ts';
import { sealFixture } from '../support/seal-fixture.ts';
import { IS_WHOLE, sliceOfCommit } from '../support/slice.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { faultMatrix, type Row, verifyPart } from './support/fault-document.ts';
import { loadAll, type Outcome } from './support/loaders.ts';
import { FRAMEWORKS, installFrameworks } from './support/python.ts';

const DOCUMENT = join(FRAMEWORKS, '..', '..', 'docs', 'proofs', 'fault-matrix.md');
const subjects = readSubjects();

/**
 * The number of damaged copies, of about a thousand, that a commit loads (`HOLDFAST_WHOLE=1`: all).
 * Other tests run `verify` on all of them.
 */
const LOADED = 200;
/**
 * About a thousand loads, some of them by several ranks, take minutes, and many more on a busy
 * machine.
 */
const LOADS_TIMEOUT_MS = 60 * 60_000;

const rows: Row[] = [];
const whole = new Map<string, Outcome>();
const sealed = new Map<string, Outcome>();
beforeAll(async () => {
  using scratch = tempFolder();
  const pythons = await installFrameworks();
  const all = subjects.flatMap((subject) => damageAll(subject, join(WHOLE, subject.fixture.id), scratch.path));
  const chosen = sliceOfCommit(all.map(describeDamage), LOADED);
  const damaged = all.filter((one) => chosen.has(describeDamage(one)));
  const wholes = subjects.map(({ fixture }) => ({ ...fixture, path: join(WHOLE, fixture.id, fixture.path) }));
  const seals: (typeof wholes)[number][] = [];
  for (const { fixture } of subjects) seals.push({ ...fixture, path: (await sealFixture(fixture, join(scratch.path, 'sealed'))).path });
  const loads = damaged.map(({ subject: { fixture }, path }) => ({ maker: fixture.maker, digest: fixture.digest, path }));
  const outcomes = await loadAll([...wholes, ...seals, ...loads], { pythons, compiled: join(scratch.path, 'compiled') });
  for (const { id, path } of wholes) whole.set(id, outcomes.get(path) ?? 'crash');
  for (const { id, path } of seals) sealed.set(id, outcomes.get(path) ?? 'crash');
  for (const subject of subjects) {
    const answered = await answers(damaged.filter((one) => one.subject === subject));
    rows.push(...answered.map((row) => ({ ...row, outcome: outcomes.get(row.damaged.path) ?? 'crash' })));
  }
}, LOADS_TIMEOUT_MS);

describe('the real loaders', () => {
  it('load every whole checkpoint with its saved values', () => {
    expect([...whole].filter(([, outcome]) => outcome !== 'ok')).toEqual([]);
  });

  it('react to every change at the recorded places of the values', () => {
    const unnoticed = rows.filter(({ damaged, outcome }) => damaged.fault.kind === 'payload' && outcome === 'ok');
    expect(unnoticed.map(({ damaged }) => describeDamage(damaged))).toEqual([]);
  });
});

// Runs here, because most of the time of a load goes into starting the loader.
describe('a checkpoint that was sealed', () => {
  it.each([...new Set(subjects.map(({ fixture }) => fixture.maker))].sort())('is loaded by %s exactly as before', (maker) => {
    const own = subjects.filter(({ fixture }) => fixture.maker === maker).map(({ fixture }) => fixture.id);
    expect(own.map((id) => [id, sealed.get(id)])).toEqual(own.map((id) => [id, 'ok']));
  });
});

describe('verify beside the real loaders', () => {
  it('gives the promised verdict for every fault', () => {
    expect(rows.flatMap((row) => complaint(row))).toEqual([]);
  });

  it('passes no checkpoint that a loader refuses or loads wrong, unless the files hold no evidence', () => {
    const wrong = rows.filter(
      ({ damaged, outcome, deep }) =>
        outcome !== 'ok' && damaged.fault.kind !== 'tracker' && !isFound(deep, damaged.subject) && !isExcused(damaged),
    );
    expect(wrong.map(({ damaged, outcome, deep }) => [describeDamage(damaged), outcome, deep.verdict])).toEqual([]);
  });

  // If only some copies were loaded, test/fault-matrix.test.ts checks what the page says of
  // `verify`.
  if (IS_WHOLE) {
    it('matches docs/proofs/fault-matrix.md', () => {
      const versions = new Map(subjects.flatMap(({ fixture }) => Object.entries(fixture.versions)));
      const document = faultMatrix(rows, versions);
      if (process.env['UPDATE_DOCS'] === '1') writeFileSync(DOCUMENT, document);
      expect(verifyPart(document)).toBe(verifyPart(readFileSync(DOCUMENT, 'utf8')));
    });
  }
});

function isExcused(damaged: Damaged): boolean {
  return exceptionFor(damaged) !== null || (damaged.fault.kind === 'payload' && !isCovered(damaged));
}

function describeDamage({ subject, fault, damage }: Damaged): string {
  return `${subject.fixture.id}: ${fault.title}, ${damage.file}`;
}
