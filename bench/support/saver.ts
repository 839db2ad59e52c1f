import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

const ROOT = join(import.meta.dirname, '..', '..');

/** How {@link Saver} saves: with which framework, and whether it syncs at the end. */
export type Way = Framework | `${Framework}+fsync`;
type Framework = 'safetensors' | 'torch' | 'torch-no-crc' | 'dcp' | 'raw';

/** A trainer in a separate process, with its tensors in memory, that saves on request. */
export class Saver {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  private constructor(python: string, bytes: number, files: number) {
    const script = join(import.meta.dirname, 'save.py');
    this.#child = spawn(python, [script, String(bytes), String(files)], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  static async start(python: string, { bytes, files }: { readonly bytes: number; readonly files: number }): Promise<Saver> {
    const saver = new Saver(python, bytes, files);
    await saver.#line();
    return saver;
  }

  /** Saves into the folder and reports each file when it is complete. */
  async save(way: Way, folder: string, onFile: (name: string) => void = () => undefined): Promise<void> {
    this.#child.stdin.write(`${way} ${folder}\n`);
    for (let name = await this.#line(); name !== ''; name = await this.#line()) onFile(name);
  }

  stop(): void {
    this.#child.stdin.end();
  }

  async #line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error('the saver ended');
    return value;
  }
}

/** The Python with torch and safetensors; null when it is not installed. */
export function torchPython(): string | null {
  const setup = spawnSync('bash', [join(ROOT, 'test', 'frameworks', 'setup.sh'), 'torch'], { encoding: 'utf8' });
  return /^torch=(.+)$/m.exec(setup.stdout)?.[1] ?? null;
}
