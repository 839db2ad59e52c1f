import { cpSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { flipBit } from './support/fixture-copy.ts';
import { WHOLE } from './support/fixtures.ts';
import { runCommand } from './support/run-command.ts';
import { tempFolder } from './support/temp-folder.ts';

/**
 * A run of the real Hugging Face Trainer with these steps sealed and one bit of the newest flipped.
 * Names and sizes are unchanged.
 */
async function damagedRun(...steps: readonly number[]) {
  const folder = tempFolder();
  const path = join(folder.path, 'run');
  cpSync(join(WHOLE, 'hf-trainer-run/data/run'), path, { recursive: true });
  await runCommand(['seal', ...steps.map((step) => join(path, `checkpoint-${step}`))]);
  const of = (step: number) => join(path, `checkpoint-${step}`);
  const weights = (step: number) => join(of(step), 'model.safetensors');
  // In the last tensor, which no structure describes.
  const flip = (step: number) => flipBit(weights(step), statSync(weights(step)).size - 1);
  flip(Math.max(...steps));
  return { path, of, flip, outside: folder.path, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

describe('a checkpoint with a failed check', () => {
  it('that was restored is read before it counts: prune deletes no good one in its favour', async () => {
    using run = await damagedRun(4, 6);
    await runCommand(['resume', '--deep', run.path]);
    expect((await runCommand(['quarantine', run.path, '--restore=checkpoint-6'])).code).toBe(0);
    const pruned = await runCommand(['prune', run.path, '--keep=1']);
    expect(pruned.stderr).toContain('MANIFEST_CHECKSUM');
    expect(existsSync(run.of(4))).toBe(true);
    expect((await runCommand(['resume', '--deep', run.path])).stdout).toBe(`${run.of(4)}\n`);
  });

  it('that was restored after newer ones is still read when its turn comes', async () => {
    using run = await damagedRun(2, 4);
    await runCommand(['resume', '--deep', run.path]);
    await runCommand(['quarantine', run.path, '--restore=checkpoint-4']);
    await runCommand(['seal', run.of(6)]);
    expect((await runCommand(['resume', '--deep', run.path])).stdout).toBe(`${run.of(6)}\n`);
    writeFileSync(join(run.of(6), 'scheduler.pt'), 'cut');
    const { code, stdout, stderr } = await runCommand(['resume', run.path]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${run.of(2)}\n` });
    expect(stderr).toContain('checkpoint-4 was not taken (bad)');
  });

  it('counts again after a repair: every byte is read once, and Holdfast reports it', async () => {
    using run = await damagedRun(4, 6);
    await runCommand(['resume', '--deep', run.path]);
    await runCommand(['quarantine', run.path, '--restore=checkpoint-6']);
    run.flip(6);
    expect((await runCommand(['ls', run.path])).stdout).toContain('it reads them first, because it was found bad, or changed, before');
    const resumed = await runCommand(['resume', run.path]);
    expect(resumed).toMatchObject({ code: 0, stdout: `${run.of(6)}\n` });
    expect(resumed.stderr).toContain('every byte was read, because it was found bad, or changed, before');
    expect(await runCommand(['resume', run.path])).toMatchObject({ stdout: `${run.of(6)}\n`, stderr: '' });
  });

  it('by seal is neither returned by resume nor a reason for prune to delete older ones', async () => {
    using run = await damagedRun(4, 6);
    expect((await runCommand(['seal', run.of(6)])).stderr).toContain('is sealed, but part 0');
    const pruned = await runCommand(['prune', run.path, '--keep=1']);
    expect(pruned.stderr).toContain('MANIFEST_CHECKSUM');
    expect((await runCommand(['resume', run.path])).stdout).toBe(`${run.of(4)}\n`);
  });

  it('by ship is neither returned by resume nor a reason for prune to delete older ones', async () => {
    using run = await damagedRun(4, 6);
    const shipped = await runCommand(['ship', run.path, pathToFileURL(join(run.outside, 'copies')).href]);
    expect(shipped.stderr).toContain('SOURCE_CHANGED');
    expect(JSON.parse(readFileSync(join(run.path, '.holdfast/last-good.json'), 'utf8'))).toMatchObject({ suspects: [expect.any(String)] });
    const pruned = await runCommand(['prune', run.path, '--keep=1']);
    expect(pruned.stderr).toContain('MANIFEST_CHECKSUM');
    expect(existsSync(run.of(4))).toBe(true);
    expect((await runCommand(['resume', run.path])).stdout).toBe(`${run.of(4)}\n`);
  });
});
