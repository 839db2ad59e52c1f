import type { Command, CommandEntry } from '../../src/cli/frame/command.ts';
import { commandHelp } from '../../src/cli/frame/help.ts';
import { createStyle } from '../../src/cli/output/style.ts';

const PLAIN = { style: createStyle({ stream: {}, env: {}, noColor: true }), columns: 100 };

/** The help of every command on one page. */
export function commandPage(commands: readonly { readonly entry: CommandEntry; readonly command: Command }[]): string {
  return [
    '# Commands',
    '',
    '<!-- Made by `npm run docs` from the tables in the source: change those, not this page. -->',
    '',
    ...commands.flatMap(({ entry, command }) => [
      `## holdfast ${entry.name}`,
      '',
      '```text',
      ...commandHelp(entry, command, PLAIN),
      '```',
      '',
    ]),
  ].join('\n');
}
