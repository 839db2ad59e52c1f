import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tempFolder } from '../../support/temp-folder.ts';
import { answersTo } from './oracle.ts';

const LINES = ['{"one": 1}', '{"two": 2}'];

describe('a program that does not answer as it should is told of', () => {
  it('where it is not there', async () => {
    await expect(answersTo(LINES, { program: '/nowhere/oracle' })).rejects.toThrow(
      'the oracle (/nowhere/oracle) could not be started: spawn /nowhere/oracle ENOENT after 0 answers to 2 lines; the next line is {"one": 1}',
    );
  });

  it('where it hangs: with the line that it hangs at', async () => {
    const program = script('read line; echo "$line"; exec sleep 600');
    await expect(answersTo(LINES, { program, limitMs: 2000 })).rejects.toThrow(
      'was ended by SIGKILL, as it is when it takes longer than 2 s, after 1 answers to 2 lines; the next line is {"two": 2}',
    );
  });

  it('where it fails, ends too early, says too much, or no JSON', async () => {
    await expect(answersTo(LINES, { program: script('exit 3') })).rejects.toThrow('ended with 3 after 0 answers to 2 lines');
    await expect(answersTo(LINES, { program: script('read line; echo "$line"') })).rejects.toThrow('ended after 1 answers to 2 lines');
    await expect(answersTo(LINES, { program: script('cat; echo {}') })).rejects.toThrow('ended after 3 answers to 2 lines');
    await expect(answersTo(['{}', 'smell'], { program: script('cat') })).rejects.toThrow('answer 1 of the oracle is smell: ');
    expect(await answersTo(LINES, { program: script('cat') })).toEqual([{ one: 1 }, { two: 2 }]);
  });

  it('also where it dies with much of what it is asked unread', async () => {
    await expect(answersTo(['x'.repeat(2 ** 22)], { program: script('exit 0') })).rejects.toThrow('ended after 0 answers to 1 lines');
  });
});

function script(commands: string): string {
  const folder = tempFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  const path = join(folder.path, 'program');
  writeFileSync(path, `#!/bin/sh\n${commands}\n`, { mode: 0o755 });
  return path;
}
