import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { realClock } from './clock.ts';
import { threadProgram, WorkerThread } from './worker-thread.ts';

/** A program for a thread, in a folder of the test. */
function programIn(folder: string, text: string): URL {
  const path = join(folder, 'thread.mjs');
  writeFileSync(path, `import { parentPort, workerData } from 'node:worker_threads';\n${text}`);
  return pathToFileURL(path);
}

it('a thread gets its data, answers a message, and exits within its time limit', async () => {
  using folder = tempFolder();
  const answered = Promise.withResolvers<number>();
  const exited = Promise.withResolvers<Error | null>();
  const program = programIn(folder.path, "parentPort.on('message', (n) => parentPort.postMessage(n * workerData));");
  const thread = new WorkerThread<number, number>(program, {
    data: 7,
    heapMb: 16,
    onMessage: answered.resolve,
    onExit: exited.resolve,
  });
  thread.send(6);
  expect(await answered.promise).toBe(42);
  expect(await thread.end(10_000, realClock)).toBe(true);
  expect([thread.isAlive, await exited.promise]).toEqual([false, null]);
});

it('a thread that dies of an error says which', async () => {
  using folder = tempFolder();
  const exited = Promise.withResolvers<Error | null>();
  const program = programIn(folder.path, "throw new Error('no such folder');");
  const thread = new WorkerThread(program, { heapMb: 16, onMessage: () => {}, onExit: exited.resolve });
  thread.hold();
  expect((await exited.promise)?.message).toBe('no such folder');
});

it('a process exits without waiting for a thread that is not held', () => {
  using folder = tempFolder();
  const program = programIn(folder.path, "parentPort.on('message', () => {});");
  const module = JSON.stringify(new URL('./worker-thread.ts', import.meta.url).href);
  const code = `const { WorkerThread } = await import(${module});
    new WorkerThread(new URL(${JSON.stringify(program.href)}), { heapMb: 16, onMessage() {}, onExit() {} });`;
  execFileSync(process.execPath, ['--input-type=module', '-e', code], { timeout: 120_000 });
});

it('a thread’s program is TypeScript in a clone and JavaScript after a build', () => {
  expect(threadProgram('x-worker', 'file:///src/a/b.ts').href).toBe('file:///src/a/x-worker.ts');
  expect(threadProgram('x-worker', 'file:///dist/a/b.js').href).toBe('file:///dist/a/x-worker.js');
});
