import { EXIT } from '../../../core/exit-codes.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { excerpt } from '../../../core/printable.ts';
import { defineCommand } from '../../frame/command.ts';
import { didYouMean } from '../../frame/suggest.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** The command `completion`. */
export const completion = defineCommand({
  description: 'Prints a completion script for your shell. With it the shell completes commands, options, their values, codes and paths.',
  operand: { name: 'SHELL', description: SHELLS.join(', '), count: 'one', complete: { words: SHELLS } },
  options: {},
  examples: [
    { line: 'completion bash > ~/.local/share/bash-completion/completions/holdfast', description: 'Install it for bash' },
    { line: 'completion zsh > ~/.zfunc/_holdfast', description: 'Install it for zsh, if ~/.zfunc is in fpath' },
    { line: 'completion fish > ~/.config/fish/completions/holdfast.fish', description: 'Install it for fish' },
  ],
  async run({ operands: [name = ''], commands, output }) {
    const shell = SHELLS.find((known) => known === name);
    if (shell === undefined) {
      throw new HoldfastError('USAGE', {
        message: `"${excerpt(name, 40)}" is not a known shell: ${SHELLS.join(', ')}.${didYouMean(name, SHELLS)}`,
      });
    }
    const { describeCommands } = await import('../../frame/completion/model.ts');
    const script = (await renderer(shell))(await describeCommands(commands));
    if (output.json) output.printJson({ shell, script });
    else output.print(script.trimEnd());
    return EXIT.ok;
  },
});

async function renderer(shell: (typeof SHELLS)[number]) {
  switch (shell) {
    case 'bash':
      return (await import('../../frame/completion/bash.ts')).bashCompletion;
    case 'zsh':
      return (await import('../../frame/completion/zsh.ts')).zshCompletion;
    case 'fish':
      return (await import('../../frame/completion/fish.ts')).fishCompletion;
  }
}
