import { HoldfastError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-codes.ts';
import { excerpt } from '../../core/printable.ts';
import { type CommandEntry, defineCommand } from '../command.ts';
import type { Output } from '../output/output.ts';
import { didYouMean } from '../suggest.ts';

const EXIT_CODES_TOPIC = 'exit-codes';

export const help = defineCommand({
  description: 'Without a topic: the commands there are. With the name of a command: its options and examples.',
  operand: {
    name: 'TOPIC',
    description: `a command, or ${EXIT_CODES_TOPIC}`,
    count: 'optional',
    complete: { commandsAnd: [EXIT_CODES_TOPIC] },
  },
  options: {},
  examples: [
    { line: 'help verify', description: 'options and examples of verify' },
    { line: `help ${EXIT_CODES_TOPIC}`, description: 'what each exit code means' },
  ],
  async run({ operands: [topic], commands, output }) {
    if (topic === EXIT_CODES_TOPIC && output.json) output.printJson({ exitCodes: (await import('../help.ts')).exitCodeTable() });
    else output.print(...(await page(topic, commands, output)));
    return EXIT.ok;
  },
});

async function page(topic: string | undefined, commands: readonly CommandEntry[], output: Output): Promise<string[]> {
  const { commandHelp, exitCodeHelp, overview } = await import('../help.ts');
  if (topic === undefined) return overview(commands, output);
  if (topic === EXIT_CODES_TOPIC) return exitCodeHelp(output);
  const entry = commands.find(({ name }) => name === topic);
  if (entry !== undefined) return commandHelp(entry, await entry.load(), output);
  const topics = [...commands.map(({ name }) => name), EXIT_CODES_TOPIC];
  throw new HoldfastError('USAGE', {
    message: `there is no help on "${excerpt(topic, 40)}".${didYouMean(topic, topics)}`,
    hint: `The topics are: ${topics.join(', ')}.`,
  });
}
