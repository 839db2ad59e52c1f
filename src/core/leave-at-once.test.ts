import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runProcess } from '../../test/support/run-process.ts';
import { tempFolder } from '../../test/support/temp-folder.ts';

const MODULE = new URL('./leave-at-once.ts', import.meta.url).href;

/** A thread that waits in the kernel for ever: it opens a pipe that has no other end. */
const waitsFor = (pipe: string): string => `
  import { openSync } from 'node:fs';
  import { parentPort } from 'node:worker_threads';
  parentPort.postMessage('begun');
  openSync(${JSON.stringify(pipe)});`;

/** A program with such a thread that exits with a code. */
const programFor = (pipe: string, code: number): string => `
  import { Worker } from 'node:worker_threads';
  import { leaveAtOnce } from ${JSON.stringify(MODULE)};
  new Worker(${JSON.stringify(waitsFor(pipe))}, { eval: true }).on('message', () => {
    console.log('told');
    leaveAtOnce(${code});
  });`;

describe('a process with a thread that waits in the kernel', () => {
  it.each([0, 7, 143])('exits with %i, and its output arrives', async (code) => {
    using folder = tempFolder();
    const pipe = join(folder.path, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const left = await runProcess(process.execPath, ['--input-type=module', '--eval', programFor(pipe, code)]);
    expect([left.code, left.stdout]).toEqual([code, 'told\n']);
  });
});
