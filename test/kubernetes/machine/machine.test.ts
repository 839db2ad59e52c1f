import { describe, expect, it } from 'vitest';
import { guestScript, passedOn, wishOf } from './command.ts';
import { machineCommand } from './kernel.ts';

describe('what is asked for', () => {
  it('is a command with its own options, after those of the machine', () => {
    expect(wishOf(['--bring=docs/a.md', 'vitest', '--bring=x', '-t', 'name'])).toEqual({
      command: ['vitest', '--bring=x', '-t', 'name'],
      bring: ['docs/a.md'],
    });
  });

  it.each([
    [[], 'there is no command'],
    [['--bring=docs/a.md'], 'there is no command'],
    [['--brin=docs/a.md', 'true'], 'not understood: --brin=docs/a.md'],
    [['--bring=/etc/passwd', 'true'], '--bring=/etc/passwd: a file of the working tree, named from its root'],
    [['--bring=docs/../../a', 'true'], '--bring=docs/../../a: a file of the working tree, named from its root'],
  ])('%j is refused', (args, why) => {
    expect(wishOf(args)).toBe(why);
  });
});

it('words and variables reach the command as they are', () => {
  const script = guestScript({ command: ['echo', "it's $HOME"], bring: ['docs/a b.md'], folder: '/tree', environment: { CI: 'a;b' } });
  expect(script).toContain(`export CI='a;b'\n`);
  expect(script).toContain(`(cd '/tree' && 'echo' 'it'\\''s $HOME') <`);
  expect(script).toContain(`cp '/tree/docs/a b.md' /run/machine/brought-0\n`);
});

it('of the environment only what the tests know is passed on', () => {
  expect(passedOn({ PATH: '/bin', HOLDFAST_WRITE_NOTES: '1', SECRET: 'x', LANG: undefined })).toEqual({
    PATH: '/bin',
    HOLDFAST_WRITE_NOTES: '1',
  });
});

it('a machine has no network, and ends with whoever started it', () => {
  const line = machineCommand({ init: '/tree/init.sh', tools: '/t', exchange: '/c/e', scratch: '/c/s' });
  expect(line.slice(0, 3)).toEqual(['setpriv', '--pdeathsig', 'KILL']);
  expect(line).toContain('--kill-child=KILL');
  expect(line).toEqual(expect.arrayContaining(['rootfstype=hostfs', 'ro', 'init=/tree/init.sh', 'exchange=/c/e', 'ubd0=/c/s']));
  expect(line.join(' ')).not.toMatch(/eth\d|vec\d/);
});
