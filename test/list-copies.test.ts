import { cpSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealCheckpoint } from './object-stores/shippable-run.ts';
import { runCommand } from './support/run-command.ts';
import { MEMORY, tempFolder } from './support/temp-folder.ts';

const FILES = { 'model.dat': 5000, 'optimizer.dat': 100 };

describe('holdfast ls with an address', () => {
  it('lists the copies, names the fault of one, and marks the one that fetch takes', async () => {
    using folder = tempFolder(MEMORY);
    const [run, copies] = [join(folder.path, 'run'), join(folder.path, 'copies')];
    const url = `file://${copies}`;
    for (const step of [100, 200, 300]) await sealCheckpoint(run, step, FILES);
    expect((await runCommand(['ls', url])).code).toBe(3);
    expect((await runCommand(['ship', '--all', run, url])).code).toBe(0);
    const whole = await runCommand(['ls', url]);
    expect(whole.code).toBe(0);
    expect(whole.stdout).toMatch(/▸ whole +300 +3 +\S+ +4\.98 KiB +step-300 +← newest/);
    truncateSync(join(copies, 'step-300/model.dat'), 10);
    writeFileSync(join(copies, 'step-100/holdfast.manifest.json'), 'not a manifest');
    const json = JSON.parse((await runCommand(['ls', '--json', url])).stdout) as unknown;
    expect(json).toMatchObject({
      schema: 'holdfast.ls-remote/1',
      url,
      copies: [
        { step: 300, state: 'incomplete', reason: 'model.dat has 10 bytes, 5000 were sealed', isPointed: true, isNewest: false },
        { step: 200, state: 'whole', reason: null, isNewest: true },
      ],
      broken: [{ name: 'step-100', code: 'REMOTE_INVALID' }],
    });
    writeFileSync(join(copies, 'step-200/model.dat'), Buffer.alloc(5000, 7));
    expect((await runCommand(['ls', url])).code).toBe(0);
    const deep = await runCommand(['ls', '--deep', url]);
    expect(deep).toMatchObject({ code: 1, stdout: expect.stringContaining('model.dat differs from the sealed file') as string });
  });

  it('lists copies whose run.json belongs to another run, and warns', async () => {
    using folder = tempFolder(MEMORY);
    const [run, copies] = [join(folder.path, 'run'), join(folder.path, 'copies')];
    await sealCheckpoint(run, 100, FILES);
    expect((await runCommand(['ship', run, `file://${copies}`])).code).toBe(0);
    const moved = join(folder.path, 'moved');
    cpSync(copies, moved, { recursive: true });
    writeFileSync(join(moved, '.holdfast/run.json'), '{"schema":"holdfast.remote-run/1","run":"another"}');
    const { code, stdout } = await runCommand(['ls', `file://${moved}`]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/names\s+the run another/) as string });
    rmSync(join(moved, '.holdfast/run.json'));
    expect((await runCommand(['ls', `file://${moved}`])).code).toBe(0);
  });
});
