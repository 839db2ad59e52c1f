import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock } from '../../core/clock.ts';
import { systemCode } from '../../core/errors.ts';
import { parseKeepingNumbers } from '../../core/json.ts';
import { excerpt } from '../../core/printable.ts';
import type { Lease } from '../backend.ts';
import { inOneLine, textLines } from '../text-lines.ts';

/** The outcome of an item in a program. */
export type Outcome =
  | { readonly kind: 'result'; readonly result: string }
  | { readonly kind: 'error'; readonly error: string }
  | { readonly kind: 'ended'; readonly how: string };

/** The settings of a program. */
export interface ProgramOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Called when the program reports the progress of an unfinished item. */
  readonly onProgress: (lease: Lease, state: string) => void;
}

const LONGEST_ANSWER = 64 * 2 ** 20;
/** The time from SIGTERM to SIGKILL for a program. */
const KILL_AFTER_MS = 5000;

/**
 * A program that reads items as JSON lines and answers each with a JSON line, in order. It starts
 * with the first item.
 */
export class ItemProgram {
  readonly #options: ProgramOptions;
  #child: ChildProcess | null = null;
  #answers: AsyncIterator<string> | null = null;
  #ended: Promise<string> = Promise.resolve('');

  constructor(options: ProgramOptions) {
    this.#options = options;
  }

  /** Sends an item and waits for its outcome. */
  async run(lease: Lease): Promise<Outcome> {
    const { key, value, token, generation, progress } = lease;
    if (this.#child === null) this.#start();
    const rest = `"token":${token},"generation":${generation},"progress":${progress ?? 'null'}`;
    this.#child?.stdin?.write(`${inOneLine(`{"key":${JSON.stringify(key)},"value":${value},${rest}}`)}\n`);
    for (;;) {
      const answer = await this.#answers?.next();
      if (answer === undefined || answer.done === true) {
        const how = await this.#ended;
        this.#child = null;
        return { kind: 'ended', how };
      }
      const outcome = readAnswer(answer.value);
      if ('progress' in outcome) this.#options.onProgress(lease, outcome.progress);
      else return outcome;
    }
  }

  /**
   * Closes the program’s input, so that it ends by itself. After its time it gets SIGTERM, and then
   * SIGKILL.
   */
  async close(graceMs: number): Promise<void> {
    this.#child?.stdin?.end();
    if (await this.#hasEndedWithin(graceMs)) return;
    this.signal('SIGTERM');
    if (await this.#hasEndedWithin(KILL_AFTER_MS)) return;
    this.signal('SIGKILL');
    await this.#ended;
  }

  /** Signals the program and all its descendants. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, name);
    } catch {
      // The program has exited.
    }
  }

  #start(): void {
    const { command, env } = this.#options;
    const [file = '', ...args] = command;
    // A process group of its own: Ctrl-C reaches only the worker, which lets the item finish.
    const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true, env });
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.on('error', (error) => resolve(`cannot be started: ${systemCode(error) ?? error.message}`));
      child.on('close', (code, signal) => resolve(signal === null ? `ended with exit code ${code ?? 0}` : `was ended by ${signal}`));
    });
    // A program may exit without reading its input; its exit status counts.
    child.stdin.on('error', () => {});
    this.#answers = answerLines(child.stdout);
  }

  async #hasEndedWithin(ms: number): Promise<boolean> {
    if (this.#child === null) return true;
    const waiting = new AbortController();
    const timeout = this.#options.clock.sleep(ms, { signal: waiting.signal }).then(
      () => false,
      () => true,
    );
    const hasEnded = await Promise.race([this.#ended.then(() => true), timeout]);
    waiting.abort();
    return hasEnded;
  }
}

async function* answerLines(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const { text } of textLines(stream, LONGEST_ANSWER)) if (text?.trim() !== '') yield text ?? '';
}

/** `{"result": …}`, `{"error": "…"}` or `{"progress": …}`. */
function readAnswer(text: string): Exclude<Outcome, { kind: 'ended' }> | { readonly progress: string } {
  const wrong = { kind: 'error', error: `the program printed a line that is not an answer: ${excerpt(text, 200)}` } as const;
  let answer: unknown;
  try {
    answer = parseKeepingNumbers(text);
  } catch {
    return wrong;
  }
  if (typeof answer !== 'object' || answer === null) return wrong;
  if ('result' in answer) return { kind: 'result', result: JSON.stringify(answer.result) };
  if ('error' in answer) return { kind: 'error', error: typeof answer.error === 'string' ? answer.error : JSON.stringify(answer.error) };
  // A program that echoes its input sends "progress" among other fields, and would never answer.
  return 'progress' in answer && Object.keys(answer).length === 1 ? { progress: JSON.stringify(answer.progress) } : wrong;
}
