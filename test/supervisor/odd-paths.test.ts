import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

const KINDS: Readonly<Record<string, (path: string) => string>> = {
  'a FIFO': (path) => {
    execFileSync('mkfifo', [path]);
    return path;
  },
  'a device that is always full': () => '/dev/full',
  'a device without an end': () => '/dev/zero',
  'a folder': (path) => {
    mkdirSync(path);
    return path;
  },
};

describe.each(Object.keys(KINDS))('%s as a file of holdfast run', (kind) => {
  it.each(['--termination-log', '--notice-file'])('lets the run end after SIGTERM: %s', async (option) => {
    using folder = tempFolder();
    const path = KINDS[kind]?.(join(folder.path, 'odd')) ?? '';
    const run = new Supervised({
      args: ['--dir', join(folder.path, 'run'), '--grace', '20s', option, path],
      command: trainerCommand('exits', 'bare'),
    });
    await run.line(/^ready/);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
  });

  it.each(['--dir', '--watch', '--stage'])('is refused or survived, and the run does not hang: %s', async (option) => {
    using folder = tempFolder();
    const path = KINDS[kind]?.(join(folder.path, 'odd')) ?? '';
    const dir = option === '--stage' ? ['--dir', join(folder.path, 'run')] : [];
    const { code } = await new Supervised({ args: [...dir, option, path], command: ['true'] }).ended;
    expect([0, 64, 66, 73, 75]).toContain(code);
  });
});
