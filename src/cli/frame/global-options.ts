import type { OptionTable } from './command.ts';

/** Options that every command takes. */
export const GLOBAL_OPTIONS = {
  json: { kind: 'flag', description: 'Print the result as one JSON document' },
  quiet: { kind: 'flag', short: 'q', description: 'Print the result only: no notes, no progress' },
  'no-color': { kind: 'flag', description: 'Print without colours' },
  progress: {
    kind: 'choice',
    choices: ['auto', 'json', 'none'],
    default: 'auto',
    description: 'Progress on standard error: auto (a line on a terminal, nothing in a pipe), json (JSON lines), or none',
  },
  help: { kind: 'flag', short: 'h', description: 'Show the help of the command' },
  version: { kind: 'flag', description: 'Show the version' },
} as const satisfies OptionTable;
