import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

const ROOT = join(import.meta.dirname, '../..');
/** The file system in memory for staged saves. */
export const MEMORY = '/dev/shm';

/**
 * `holdfast run` with a trainer that saves on request. Its first save is already made, so later
 * saves are staged.
 */
export class StagedRun {
  /** The folder of the run. */
  readonly dir: string;
  /** A folder in memory for any use. */
  readonly memory: string;
  readonly #folder: string;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #lines: string[] = [];
  #wake: () => void = () => {};
  #trainer = 0;

  private constructor(bytes: number) {
    this.#folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
    this.memory = mkdtempSync(join(MEMORY, 'holdfast-bench-'));
    this.dir = join(this.#folder, 'run');
    mkdirSync(join(this.memory, 'plain'));
    const trainer = ['python3', join(ROOT, 'bench/support/staged-trainer.py'), String(bytes)];
    const options = ['--dir', this.dir, `--stage=${this.memory}`, '--every=1steps', '--grace=10m', '--keep=1', '--metadata=off'];
    this.#child = spawn(join(ROOT, 'bin/holdfast'), ['run', ...options, '--', ...trainer], { stdio: 'pipe' });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        this.#lines.push(line);
        this.#wake();
      });
    }
    this.#child.on('close', () => this.#wake());
  }

  static async start(bytes: number): Promise<StagedRun> {
    const run = new StagedRun(bytes);
    run.#trainer = Number((await run.line(/^ready /)).split(' ')[1]);
    await run.save(false);
    return run;
  }

  /** Asks the trainer for a save; resolves to the seconds that it waited. */
  async save(isStaged = true): Promise<number> {
    const [, , seconds, folder = ''] = (await this.ask('save', /^handed /)).split(' ');
    if (folder.startsWith(this.memory) !== isStaged) throw new Error(`the save went to ${folder}:\n${this.#lines.join('\n')}`);
    if (!isStaged) await this.ask('wait', /^sealed /);
    return Number(seconds);
  }

  /** Resolves when all copying, sealing and deleting is done. */
  async rest(): Promise<void> {
    await this.ask('wait', /^sealed /);
    while (this.#isTidying()) await sleep(10);
  }

  /** After the seal the staged copy is deleted, then the older checkpoint. */
  #isTidying(): boolean {
    const checkpoints = readdirSync(this.dir).filter((name) => name.startsWith('step-'));
    const trash = join(this.dir, '.holdfast/trash');
    return readdirSync(this.memory).length > 1 || checkpoints.length > 1 || (existsSync(trash) && readdirSync(trash).length > 0);
  }

  /**
   * Makes the trainer write the same bytes into memory and nothing else; resolves to the seconds.
   */
  async plain(): Promise<number> {
    const folder = join(this.memory, 'plain');
    const line = await this.ask(`plain ${folder}`, /^plain /);
    rmSync(join(folder, 'state'));
    return Number(line.split(' ')[1]);
  }

  async ask(command: string, answer: RegExp): Promise<string> {
    this.#lines.length = 0;
    this.#child.stdin.write(`${command}\n`);
    return this.line(answer);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** The first line that matches since the last request, from either stream. */
  async line(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = this.#lines.find((line) => pattern.test(line));
      if (found !== undefined) return found;
      if (this.#child.exitCode !== null) throw new Error(`ended without a line like ${pattern}:\n${this.#lines.join('\n')}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Kills it and removes all its files. */
  async dispose(): Promise<void> {
    const closed = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.kill('SIGKILL');
    try {
      process.kill(this.#trainer, 'SIGKILL');
    } catch {
      // It has already ended.
    }
    await closed;
    for (const path of [this.#folder, this.memory]) rmSync(path, { recursive: true, force: true });
  }
}
