import { readBeginning } from './reader.ts';

/** The command that an attempt ran. */
export interface AttemptCommand {
  readonly attempt: number;
  readonly command: readonly string[];
}

/** The command of the newest attempt before this one that recorded it; null: none did. */
export function lastCommand(run: string, before: number): AttemptCommand | null {
  return readBeginning(run, before, ({ attempt, event }) =>
    event.kind === 'attempt-started' ? { attempt, command: event.command } : null,
  );
}
