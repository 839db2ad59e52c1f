import type { OptionTable, OptionValues } from './command.ts';

/** Options that every command takes. */
export const GLOBAL_OPTIONS = {
  json: { kind: 'flag', description: 'Print the result as one JSON document' },
  quiet: { kind: 'flag', short: 'q', description: 'Print the result only: no notes, no progress' },
  'no-color': { kind: 'flag', description: 'No colours, whatever the terminal can do' },
  progress: {
    kind: 'choice',
    choices: ['auto', 'json', 'none'],
    default: 'auto',
    description: 'Progress on standard error: a line on a terminal and nothing in a pipe (auto), JSON lines (json), or nothing (none)',
  },
  help: { kind: 'flag', short: 'h', description: 'Show the help of the command' },
  version: { kind: 'flag', description: 'Show the version' },
} as const satisfies OptionTable;

export type GlobalValues = OptionValues<typeof GLOBAL_OPTIONS>;
