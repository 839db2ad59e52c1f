import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runProcess } from '../../test/support/run-process.ts';
import { tempFolder } from '../../test/support/temp-folder.ts';

const here = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);

/**
 * A command with a thread that waits in the kernel for ever, which it tells; then it ends, or
 * fails.
 */
const program = (pipe: string, end: string): string => `
  import { Worker } from 'node:worker_threads';
  import { defineCommand } from ${here('./frame/command.ts')};
  import { runProcess } from ${here('./run-process.ts')};
  import { HoldfastError } from ${here('../core/errors.ts')};
  const thread = \`import { openSync } from 'node:fs'; import { parentPort } from 'node:worker_threads';
    parentPort.postMessage('begun'); openSync(${JSON.stringify(pipe)});\`;
  const stick = defineCommand({
    description: 'Sticks.', operand: null, options: {}, examples: [],
    async run({ cannotEnd }) {
      await new Promise((resolve) => new Worker(thread, { eval: true }).on('message', resolve));
      cannotEnd();
      ${end}
    },
  });
  process.argv.splice(1, Infinity, 'holdfast', 'stick');
  await runProcess([{ name: 'stick', summary: 'Stick', load: async () => stick }]);`;

it.each([
  ['ends', 'return 7;', 7, ''],
  ['fails', "throw new HoldfastError('STORE_FAILED', { message: 'the disk is gone' });", 73, 'error STORE_FAILED: the disk is gone\n'],
])(
  'a command that %s although a thread waits for a disk ends the process with its code, and its output arrives',
  async (_, end, code, stderr) => {
    using folder = tempFolder();
    const pipe = join(folder.path, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const ended = await runProcess(process.execPath, ['--input-type=module', '--eval', program(pipe, end)]);
    expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code, stderr });
  },
);
