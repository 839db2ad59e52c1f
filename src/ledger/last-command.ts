import { readBeginning } from './reader.ts';

/** What an attempt ran. */
export interface AttemptCommand {
  readonly attempt: number;
  readonly command: readonly string[];
}

/** What the newest attempt before this one ran, as far as one tells it; null: none does. */
export function lastCommand(run: string, before: number): AttemptCommand | null {
  return readBeginning(run, before, ({ attempt, event }) =>
    event.kind === 'attempt-started' ? { attempt, command: event.command } : null,
  );
}
