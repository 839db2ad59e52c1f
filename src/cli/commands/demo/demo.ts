import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { defineCommand } from '../../frame/command.ts';

/** The command `demo`. */
export const demo = defineCommand({
  description:
    'Shows in half a minute what Holdfast is for. It interrupts a real example trainer at the worst moments, bare and under holdfast run, and starts it again. Then it compares the result with the same training without an interruption. It needs only Python 3, works in a temporary folder, and exits with 0 only if Holdfast kept every promise.',
  operand: null,
  options: {
    keep: { kind: 'flag', description: 'Keep the folders of the runs, so that you can inspect them with log, ls and verify' },
  },
  examples: [
    { line: 'demo', description: 'Interrupt a trainer four times and show what is left' },
    { line: 'demo --json', description: 'The same as JSON' },
  ],

  async run({ values, output, clock, env, signal }): Promise<ExitCode> {
    const { showDemo } = await import('./show-demo.ts');
    return (await showDemo({ output, clock, env, signal, keeps: values.keep })) ? EXIT.ok : EXIT.no;
  },
});
