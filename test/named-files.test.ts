import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../src/cli/commands/index.ts';
import { withVerbs } from '../src/cli/frame/command.ts';
import { EXIT } from '../src/core/exit-codes.ts';
import { NAMED, TRIED_ELSEWHERE } from './support/kinds/named-files.ts';
import { playLines } from './support/kinds/play-lines.ts';
import { THINGS } from './support/kinds/things.ts';
import { sliceOfCommit } from './support/slice.ts';

interface Line {
  readonly name: string;
  readonly skipped?: string;
  readonly code?: number;
  readonly stderr?: string;
}

const CODES: ReadonlySet<number> = new Set(Object.values(EXIT).filter((code) => code !== EXIT.internal));
const NAMES = Object.keys(NAMED);
/** What blocks a careless reader for ever: tried everywhere. Of other kinds a slice is enough. */
const BLOCKS = new Set(['a pipe', 'an endless device']);
const NAMES_EACH = 8;

describe.each(Object.keys(THINGS))('where an option, an operand or a variable names %s', (kind) => {
  it('every command ends within its deadline, with a documented code', async ({ skip }) => {
    const names = BLOCKS.has(kind) ? NAMES : [...sliceOfCommit(NAMES, NAMES_EACH)];
    const { lines, isWhole } = await playLines('play-named.ts', [kind, ...names]);
    const ends = lines as readonly Line[];
    const refused = ends.filter(({ skipped }) => skipped !== undefined);
    if (refused.length === names.length) skip(`it cannot be made here: ${refused[0]?.skipped ?? ''}`);
    expect(isWhole, `did not end: ${JSON.stringify(lines.at(-1))}`).toBe(true);
    expect(ends.filter(({ code }) => code !== undefined && !CODES.has(code))).toEqual([]);
  });
});

it('every option whose value is a file or a folder is tried with every kind of thing', async () => {
  const options: string[] = [];
  for (const entry of await withVerbs(COMMANDS)) {
    for (const [option, definition] of Object.entries((await entry.load()).options)) {
      if (definition.kind === 'value' && /^(?:FILE|FOLDER)$/.test(definition.value)) options.push(`${entry.name} --${option}`);
    }
  }
  const tried = new Set([...NAMES, ...TRIED_ELSEWHERE]);
  // All commands of a queue read the token the same way, and all questions of whatif their cluster.
  const sameAs = (option: string): string =>
    option
      .replace(/^queue (?!serve)\w+ --token-file$/, 'queue status --token-file')
      .replace(/^whatif \w+ --kubeconfig$/, 'whatif apply --kubeconfig')
      .replace(/^whatif \w+ --snapshot$/, 'whatif audit --snapshot');
  const isTried = (option: string): boolean => tried.has(sameAs(option));
  expect(options.length).toBeGreaterThan(15);
  expect(options.filter((option) => !isTried(option))).toEqual([]);
});
