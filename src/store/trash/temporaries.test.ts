import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { realClock } from '../../core/clock.ts';
import { prune } from '../retention/prune.ts';

const DAY_S = 24 * 60 * 60;

it('a prune removes day-old temporaries of killed processes, and keeps those of live ones and of other tools', async () => {
  using run = testRun({ clock: realClock });
  await sealSteps(run.store, 'g', 1);
  const folders = [`.tmp-holdfast-${randomUUID()}`, `.holdfast/attempts/.tmp-${randomUUID()}`, `.holdfast/quarantine/.tmp-${randomUUID()}`];
  const files = [
    `.holdfast/last-good.json.${randomUUID()}.tmp`,
    `.holdfast/pins/.${randomUUID()}.tmp`,
    `.holdfast/attempts/1/deadline.json.${randomUUID()}.tmp`,
  ];
  const strangers = ['.tmp-holdfast-mine', `step-1.${randomUUID()}.tmp`, '.holdfast/attempts/.tmp-other'];
  const make = (name: string, daysAgo: number): string => {
    const path = join(run.path, name);
    if (files.includes(name) || name.startsWith('step-')) writeFileSync(path, 'begun');
    else {
      mkdirSync(path);
      writeFileSync(join(path, 'run.json'), 'begun');
    }
    const when = Date.now() / 1000 - daysAgo * DAY_S;
    utimesSync(path, when, when);
    return path;
  };
  const living = [...folders, ...files].map((name) => make(name, 0.5));
  await prune(run.store, { retention: { last: 1, every: null, withinMs: null } });
  expect(living.filter((path) => !existsSync(path))).toEqual([]);
  const old = Date.now() / 1000 - 2 * DAY_S;
  for (const path of living) utimesSync(path, old, old);
  const others = strangers.map((name) => make(name, 2));
  await prune(run.store, { retention: { last: 1, every: null, withinMs: null } });
  expect(living.filter((path) => existsSync(path))).toEqual([]);
  expect(others.filter((path) => !existsSync(path))).toEqual([]);
  expect(existsSync(join(run.path, 'step-1'))).toBe(true);
});

it('a prune removes a partial copy that was idle for a day, and keeps one that is being fetched', async () => {
  using run = testRun({ clock: realClock });
  await sealSteps(run.store, 'g', 1);
  const old = Date.now() / 1000 - 2 * DAY_S;
  const fetching = join(run.path, '.holdfast/fetching');
  const make = (name: string, writtenAt: number): string => {
    const data = join(fetching, name, 'data');
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'model.dat'), 'received');
    utimesSync(join(data, 'model.dat'), writtenAt, writtenAt);
    for (const path of [data, join(fetching, name)]) utimesSync(path, old, old);
    return join(fetching, name);
  };
  const [left, going, strange] = [make('0'.repeat(40), old), make('1'.repeat(40), Date.now() / 1000), make('mine', old)];
  await prune(run.store, { retention: { last: 1, every: null, withinMs: null } });
  expect([left, going, strange].map((path) => existsSync(path))).toEqual([false, true, true]);
});
