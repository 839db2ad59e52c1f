import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { parseTerminationMessage, type TerminationMessage } from '../../src/domain/exit/termination-message.ts';

/** Keeps every termination message, also replaced ones: a pipe with both ends open. */
export class LastWords implements Disposable {
  readonly path: string;
  readonly #file: number;

  constructor(folder: string) {
    this.path = join(folder, 'last-words');
    execFileSync('mkfifo', [this.path]);
    this.#file = openSync(this.path, constants.O_RDWR | constants.O_NONBLOCK);
  }

  /** The messages since the last call. */
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
