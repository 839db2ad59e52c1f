import { cpSync, mkdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readLedger } from '../src/ledger/reader.ts';
import { WHOLE } from './support/fixtures.ts';
import { runCommand } from './support/run-command.ts';
import { LAUNCHER, runProcess } from './support/run-process.ts';
import { MEMORY, tempFolder } from './support/temp-folder.ts';

const TMPFS = 0x01021994;
const reason = statfsSync(MEMORY).type === TMPFS ? null : `${MEMORY} does not lie in memory`;
const skipped = reason === null ? '' : ` (skipped: ${reason})`;
const test = it.skipIf(reason !== null);

const KEEPS_NOTHING = /keeps nothing across a power cut/;
const warningsIn = (run: string): readonly string[] =>
  readLedger(run).events.flatMap(({ event }) => (event.kind === 'note' && event.level === 'warning' ? [event.sentence] : []));

describe('a folder in memory, which does not outlive the pod', () => {
  const start = (...args: readonly string[]) => runProcess(LAUNCHER, ['run', '--quiet', '--metadata=off', ...args, '--', 'true']);

  test(`is reported when a run starts in it, on standard error and in the ledger${skipped}`, async () => {
    using folder = tempFolder(MEMORY);
    const { code, stderr } = await start(`--dir=${folder.path}`);
    expect(code).toBe(0);
    expect(stderr).toContain(`holdfast: warning: ${folder.path}: Checkpoints here die with `);
    expect(stderr).toMatch(KEEPS_NOTHING);
    expect(warningsIn(folder.path)).toEqual([expect.stringContaining(folder.path), expect.stringMatching(KEEPS_NOTHING)]);
  });

  test(`is not reported when every checkpoint is shipped${skipped}`, async () => {
    using folder = tempFolder(MEMORY);
    const [run, copies] = [join(folder.path, 'run'), join(folder.path, 'copies')];
    mkdirSync(copies);
    expect(await start(`--dir=${run}`, `--ship=file://${copies}`)).toMatchObject({ code: 0, stderr: '' });
    expect(warningsIn(run)).toEqual([]);
  });

  test(`is reported when a checkpoint is fetched into it${skipped}`, async () => {
    using folder = tempFolder(MEMORY);
    const [run, copies, place] = ['run', 'copies', 'place'].map((name) => join(folder.path, name)) as [string, string, string];
    cpSync(join(WHOLE, 'hf-trainer-run/data/run'), run, { recursive: true });
    await runCommand(['seal', join(run, 'checkpoint-2')]);
    await runCommand(['ship', run, `file://${copies}`]);
    const { code, stdout, stderr } = await runCommand(['fetch', `file://${copies}`, place, '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      notes: [],
      warnings: [expect.stringContaining('die with'), expect.stringMatching(KEEPS_NOTHING)],
    });
    expect((await runCommand(['fetch', `file://${copies}`, place])).stderr).toMatch(
      /^warning: Checkpoints here die with .*\nwarning: .*\n$/,
    );
  });
});
