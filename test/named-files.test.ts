import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../src/cli/commands/index.ts';
import { withVerbs } from '../src/cli/frame/command.ts';
import { EXIT } from '../src/core/exit-codes.ts';
import { NAMED, NOT_OPENED, TRIED_ELSEWHERE } from './support/kinds/named-files.ts';
import { playLines } from './support/kinds/play-lines.ts';
import { commandLines, THINGS } from './support/kinds/things.ts';
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

/** Placeholders of values that are a path, a pattern, or an address that may be `file://`. */
const PATHS = /^(?:FILE|FOLDER|RUN|PLACE|PATTERN|URL)$/;
/** Placeholders of all other values; a new one must be put here or there. */
const NO_PATHS =
  /^(?:ADDRESS|CADENCE|CODES|CONTEXT|COUNT|DURATION|FIELD|ID|IMAGE|KEY|LINE|N|NAME|NAMESPACE|NODES|NUMBER|OPTION|POD|PORT|RANKS|RATE|REGION|SERVICE|SIZE|STEP|STEPS|TIME|TYPES|WHAT)$/;
/** Addresses of servers that speak HTTP. */
const SERVERS = / --(?:url|notify)$/;

it('every option that can name a file or a folder is tried with every kind of thing', async () => {
  const options: string[] = [];
  const unknown: string[] = [];
  for (const entry of await withVerbs(COMMANDS)) {
    for (const [option, definition] of Object.entries((await entry.load()).options)) {
      if (definition.kind !== 'value') continue;
      const name = `${entry.name} --${option}`;
      if (PATHS.test(definition.value) && !SERVERS.test(name)) options.push(name);
      else if (!NO_PATHS.test(definition.value) && !SERVERS.test(name)) unknown.push(`${name}=${definition.value}`);
    }
  }
  const tried = new Set([...NAMES, ...TRIED_ELSEWHERE, ...NOT_OPENED]);
  // All commands of a queue read the token the same way, and all questions of whatif their cluster.
  const sameAs = (option: string): string =>
    option
      .replace(/^queue (?!serve)\w+ --token-file$/, 'queue status --token-file')
      .replace(/^whatif \w+ --kubeconfig$/, 'whatif apply --kubeconfig')
      .replace(/^whatif \w+ --snapshot$/, 'whatif audit --snapshot');
  expect(unknown).toEqual([]);
  expect(options.length).toBeGreaterThan(45);
  expect(options.filter((option) => !tried.has(sameAs(option)))).toEqual([]);
  // Nothing is listed that no longer exists.
  expect([...TRIED_ELSEWHERE, ...NOT_OPENED].filter((option) => !options.includes(option))).toEqual([]);
});

it('every command whose operand is a path is tried with every kind of thing', async () => {
  const named = NAMES.map((name) => /^([a-z ]+) [A-Z]+$/.exec(name)?.[1]);
  const tried = new Set([...named, ...commandLines('', '', '').map(([command]) => command)]);
  const commands: string[] = [];
  for (const entry of await withVerbs(COMMANDS)) if ((await entry.load()).operand?.complete === 'paths') commands.push(entry.name);
  expect(commands.length).toBeGreaterThan(15);
  expect(commands.filter((command) => !tried.has(command))).toEqual([]);
});
