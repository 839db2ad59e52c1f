import { existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../test/support/run-command.ts';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { scan } from './scan.ts';
import { pin } from '../retention/pins.ts';

const KINDS: Readonly<Record<string, (path: string) => void>> = {
  'a file': (path) => writeFileSync(path, ''),
  'a pipe': (path) => void spawnSync('mkfifo', [path]),
  'a link to another folder': (path) => symlinkSync('/tmp', path),
};

const COMMANDS = [['prune', '--keep=1'], ['ls'], ['resume'], ['rollback', '--fresh'], ['quarantine'], ['pin'], ['unpin']];

describe.each(['pins', 'trash', 'quarantine', 'attempts', 'fenced'])('a run whose folder .holdfast/%s', (name) => {
  it.each(Object.keys(KINDS))('is %s is refused by every command, and no pinned checkpoint is deleted', async (kind) => {
    using run = testRun();
    await sealSteps(run.store, 'a', 1, 2, 3);
    const oldest = scan(run.store).sealed.at(-1);
    if (oldest !== undefined) pin(run.store, oldest);
    rmSync(join(run.path, '.holdfast', name), { recursive: true });
    KINDS[kind]?.(join(run.path, '.holdfast', name));
    for (const [command = '', ...options] of COMMANDS) {
      const operand = command === 'pin' || command === 'unpin' ? join(run.path, 'step-2') : run.path;
      const { stderr } = await runCommand([command, ...options, operand]);
      expect(stderr, command).toContain('RUN_DAMAGED');
    }
    for (const step of [1, 2, 3]) expect(existsSync(join(run.path, `step-${step}`))).toBe(true);
  });
});
