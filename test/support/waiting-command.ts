import { defineCommand } from '../../src/cli/frame/command.ts';
import { runCli } from '../../src/cli/frame/run-cli.ts';
import { realClock } from '../../src/core/clock.ts';
import { EXIT } from '../../src/core/exit-codes.ts';

/**
 * Waits for a signal to stop. A stubborn one only prints that it got the signal. Each wait starts
 * with a line on standard output.
 */
const wait = defineCommand({
  description: 'Waits.',
  operand: { name: 'MANNER', description: 'polite or stubborn', count: 'one', complete: { words: ['polite', 'stubborn'] } },
  options: {},
  examples: [],
  async run({ operands: [manner], output, signal }) {
    const keepAlive = setInterval(() => {}, 1000);
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => (manner === 'polite' ? resolve() : output.print('not yet')));
      output.print('waiting');
    });
    clearInterval(keepAlive);
    return EXIT.ok;
  },
});

const { env, stdout, stderr } = process;
const commands = [{ name: 'wait', summary: 'Wait', load: async () => wait }];
const world = { stdout, stderr, env, signals: process, clock: realClock, commands, cannotEnd: () => {} };
process.exitCode = await runCli(['wait', process.argv[2] ?? ''], world);
