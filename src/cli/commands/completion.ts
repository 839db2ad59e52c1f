import { EXIT } from '../../core/exit-codes.ts';
import { HoldfastError } from '../../core/errors.ts';
import { excerpt } from '../../core/printable.ts';
import { defineCommand } from '../command.ts';
import { didYouMean } from '../suggest.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const completion = defineCommand({
  description: 'Prints a script that makes the shell complete commands, options, their values, codes and paths.',
  operand: { name: 'SHELL', description: SHELLS.join(', '), count: 'one', complete: { words: SHELLS } },
  options: {},
  examples: [
    { line: 'completion bash > ~/.local/share/bash-completion/completions/holdfast', description: 'bash, for good' },
    { line: 'completion zsh > ~/.zfunc/_holdfast', description: 'zsh, where ~/.zfunc is in fpath' },
    { line: 'completion fish > ~/.config/fish/completions/holdfast.fish', description: 'fish, for good' },
  ],
  async run({ operands: [name = ''], commands, output }) {
    const shell = SHELLS.find((known) => known === name);
    if (shell === undefined) {
      throw new HoldfastError('USAGE', {
        message: `"${excerpt(name, 40)}" is not a shell that is known: ${SHELLS.join(', ')}.${didYouMean(name, SHELLS)}`,
      });
    }
    const { describeCommands } = await import('../completion/model.ts');
    const script = (await renderer(shell))(await describeCommands(commands));
    if (output.json) output.printJson({ shell, script });
    else output.print(script.trimEnd());
    return EXIT.ok;
  },
});

async function renderer(shell: (typeof SHELLS)[number]) {
  switch (shell) {
    case 'bash':
      return (await import('../completion/bash.ts')).bashCompletion;
    case 'zsh':
      return (await import('../completion/zsh.ts')).zshCompletion;
    case 'fish':
      return (await import('../completion/fish.ts')).fishCompletion;
  }
}
