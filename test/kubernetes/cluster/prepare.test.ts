import { expect, it } from 'vitest';
import { prepare } from './prepare.ts';

it.each([
  ['nothing when it succeeds', 'echo said >&2', null],
  ['its last line when it fails', 'echo "this machine lacks: go" >&2; echo >&2; exit 1', 'this machine lacks: go'],
  ['its exit code when it fails without a word', 'exit 3', 'sh ended with 3'],
])('a script that makes something ready gives %s', async (_, line, reason) => {
  expect(await prepare(['sh', '-c', line])).toBe(reason);
});

it('a script that is not there is named', async () => {
  expect(await prepare(['/nowhere/setup.sh'])).toMatch(/^\/nowhere\/setup\.sh cannot be run: .*ENOENT/);
});
