import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

it('the supervisor finds a flipped bit in the newest checkpoint before the first trainer starts, and takes the next older one', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'run');
  const args = ['--dir', dir, '--every', '10steps'];
  expect((await new Supervised({ args, command: trainerCommand('dies', 'sdk', { steps: 25 }) }).ended).code).toBe(0);
  const file = join(dir, 'step-20/state.json');
  const bytes = readFileSync(file);
  // The last digit of the sum changes to another digit.
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 2) ^ 1, bytes.length - 2);
  writeFileSync(file, bytes);
  const { code, stdout, stderr } = await new Supervised({
    args: [...args, '--again'],
    command: trainerCommand('dies', 'sdk', { steps: 25 }),
  }).ended;
  expect([code, stdout.split('\n')[0]]).toEqual([0, 'start 11']);
  expect(stderr).toMatch(/warning: step-20 was not taken: .*state\.json does not match .*; moved to .*quarantine/);
  expect(readdirSync(dir).filter((name) => name.startsWith('step-'))).toEqual(['step-10', 'step-20']);
});
