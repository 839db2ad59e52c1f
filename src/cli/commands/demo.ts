import { EXIT, type ExitCode } from '../../core/exit-codes.ts';
import { defineCommand } from '../command.ts';

export const demo = defineCommand({
  description:
    'Shows what Holdfast is for, in half a minute: an example trainer is really interrupted, bare and under holdfast run, at the moments that hurt, started again, and compared with a twin that nobody interrupted. It needs Python 3 and nothing else, works in a temporary folder, and exits with 0 only when everything held that Holdfast promises.',
  operand: null,
  options: {
    keep: { kind: 'flag', description: 'Leave the folders of the runs behind, to look at them with log, ls and verify' },
  },
  examples: [
    { line: 'demo', description: 'Interrupt a trainer four times, and look what is left' },
    { line: 'demo --json', description: 'The same for a program' },
  ],

  async run({ values, output, clock, env, signal }): Promise<ExitCode> {
    const { showDemo } = await import('../demo/show-demo.ts');
    return (await showDemo({ output, clock, env, signal, keeps: values.keep })) ? EXIT.ok : EXIT.no;
  },
});
