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
    const page = await findPage(topic, commands);
    if (output.json) output.printJson(page.data());
    else output.print(...page.lines(output));
    return EXIT.ok;
  },
});

interface Page {
  lines(output: Output): string[];
  data(): unknown;
}

async function findPage(topic: string | undefined, commands: readonly CommandEntry[]): Promise<Page> {
  const pages = await import('../help.ts');
  if (topic === undefined) return { lines: (output) => pages.overview(commands, output), data: () => pages.overviewData(commands) };
  if (topic === EXIT_CODES_TOPIC) return { lines: pages.exitCodeHelp, data: () => ({ exitCodes: pages.exitCodeTable() }) };
  const entry = commands.find(({ name }) => name === topic);
  if (entry !== undefined) {
    const command = await entry.load();
    return { lines: (output) => pages.commandHelp(entry, command, output), data: () => pages.commandData(entry, command) };
  }
  const topics = [...commands.map(({ name }) => name), EXIT_CODES_TOPIC];
  throw new HoldfastError('USAGE', {
    message: `there is no help on "${excerpt(topic, 40)}".${didYouMean(topic, topics)}`,
    hint: `The topics are: ${topics.join(', ')}.`,
  });
}
