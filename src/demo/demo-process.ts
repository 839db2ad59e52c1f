import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { hear, type Keeper, type Life, UNBORN } from './life.ts';

interface ProgramOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly keeper: Keeper;
  readonly onChange: (life: Life) => void;
}

/**
 * A trainer, or the supervisor with its trainer, as a process of the demo. Its output is parsed
 * into the trainer's progress.
 */
export class Program {
  readonly pid: number;
  /** Resolves with the full record after its end and the last line of its output. */
  readonly ended: Promise<Life>;
  /** The last lines of its standard error, to explain a failure. */
  readonly words: string[] = [];
  readonly #kill: (signal: NodeJS.Signals) => void;
  #life = UNBORN;
  readonly #waiting = new Set<() => void>();

  constructor({ command, env, keeper, onChange }: ProgramOptions) {
    const [program = '', ...args] = command;
    // A group of its own: Ctrl-C belongs to the demo, which ends its programs in order.
    const child = spawn(program, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    this.pid = child.pid ?? 0;
    this.#kill = (signal) => void child.kill(signal);
    const change = (life: Life): void => {
      if (life === this.#life) return;
      this.#life = life;
      onChange(life);
      for (const wake of this.#waiting) wake();
    };
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        if (stream === child.stderr) keepWord(this.words, line);
        change(hear(this.#life, line, keeper));
      });
    }
    this.ended = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => {
        change({ ...this.#life, code: code ?? 128 + (signal === null ? 0 : constants.signals[signal]) });
        resolve(this.#life);
      });
    });
  }

  get life(): Life {
    return this.#life;
  }

  /** Waits until the record matches; false if the program ended before. */
  async until(isWanted: (life: Life) => boolean): Promise<boolean> {
    while (!isWanted(this.#life)) {
      if (this.#life.code !== null) return false;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.add(resolve);
      await promise;
      this.#waiting.delete(resolve);
    }
    return true;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#life.code === null) this.#kill(signal);
  }
}

const WORDS = 20;

function keepWord(words: string[], line: string): void {
  words.push(line);
  if (words.length > WORDS) words.shift();
}
