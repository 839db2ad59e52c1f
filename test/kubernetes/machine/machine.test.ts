import { describe, expect, it } from 'vitest';
import { guestScript, passedOn, wishOf } from './command.ts';
import { archive, loadOrder } from './initramfs.ts';
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

it('modules are loaded after what they need, each once, and those that are built in not at all', () => {
  const dependencies = [
    'kernel/fs/ext4/ext4.ko: kernel/fs/jbd2/jbd2.ko kernel/lib/crc16.ko',
    'kernel/fs/jbd2/jbd2.ko: kernel/lib/crc16.ko',
    'kernel/lib/crc16.ko:',
    'kernel/crypto/crc32c-intel.ko.xz:',
    '',
  ].join('\n');
  expect(loadOrder(dependencies, ['crc32c_intel', 'ext4', 'crc16', 'virtio'])).toEqual([
    'kernel/crypto/crc32c-intel.ko.xz',
    'kernel/lib/crc16.ko',
    'kernel/fs/jbd2/jbd2.ko',
    'kernel/fs/ext4/ext4.ko',
  ]);
});

it('the first root is an archive as cpio writes it', () => {
  const bytes = archive([{ path: 'init', mode: 0o100755, content: Buffer.from('hello') }]).toString('latin1');
  // 110 bytes of numbers, the name with its end, filled up to four; then what is in it.
  expect(bytes.slice(0, 22)).toBe('07070100000001000081ed');
  expect(bytes.slice(54, 62)).toBe('00000005');
  expect(bytes.slice(94, 102)).toBe('00000005');
  expect(bytes.slice(110, 130)).toBe(['init', '', 'hello', '', '', '070701'].join('\0'));
  expect(bytes).toMatch(/TRAILER!!!\0+$/);
  expect(bytes.length % 4).toBe(0);
});

it('a machine has no network, and ends with whoever started it', () => {
  const line = machineCommand({ kernel: '/t/linux.uml', initramfs: '/c/i', scratch: '/c/s' });
  expect(line.slice(0, 3)).toEqual(['setpriv', '--pdeathsig', 'KILL']);
  expect(line).toContain('--kill-child=KILL');
  expect(line).toContain('ubd0=/c/s');
  expect(line.join(' ')).not.toMatch(/eth\d|vec\d/);
});
