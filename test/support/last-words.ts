import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { parseTerminationMessage, type TerminationMessage } from '../../src/domain/termination-message.ts';

/** A place for termination messages that keeps every one of them, also those that a later one replaces: a pipe with both ends open. */
export class LastWords implements Disposable {
  readonly path: string;
  readonly #file: number;

  constructor(folder: string) {
    this.path = join(folder, 'last-words');
    execFileSync('mkfifo', [this.path]);
    this.#file = openSync(this.path, constants.O_RDWR | constants.O_NONBLOCK);
  }

  /** What was left since the last look. */
  take(): TerminationMessage[] {
    const buffer = Buffer.alloc(64 * 1024);
    const text = buffer.toString('utf8', 0, readSync(this.#file, buffer));
    return text
      .trimEnd()
      .split('\n')
      .map((line) => {
        const read = parseTerminationMessage(line);
        if (!read.ok) throw new Error(`${read.reason}: ${line}`);
        return read.value;
      });
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}
