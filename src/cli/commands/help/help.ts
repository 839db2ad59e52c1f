import { HoldfastError } from '../../../core/errors.ts';
import { EXIT } from '../../../core/exit-codes.ts';
import { excerpt } from '../../../core/printable.ts';
import { type CommandEntry, defineCommand } from '../../frame/command.ts';
import type { Output } from '../../output/output.ts';
import { didYouMean } from '../../frame/suggest.ts';

const EXIT_CODES_TOPIC = 'exit-codes';

/** The command `help`. */
export const help = defineCommand({
  description: 'Without a topic, lists the commands. With the name of a command, shows its options and examples.',
  operand: {
    name: 'TOPIC',
    description: `A command, or ${EXIT_CODES_TOPIC}`,
    count: 'any',
    complete: { commandsAnd: [EXIT_CODES_TOPIC] },
  },
  options: {},
  examples: [
    { line: 'help verify', description: 'Show the options and examples of verify' },
    { line: `help ${EXIT_CODES_TOPIC}`, description: 'Show what each exit code means' },
  ],
  async run({ operands, commands, output }) {
    const page = await findPage(operands.length === 0 ? undefined : operands.join(' '), commands);
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
  const pages = await import('../../frame/help.ts');
  if (topic === undefined) return { lines: (output) => pages.overview(commands, output), data: () => pages.overviewData(commands) };
  if (topic === EXIT_CODES_TOPIC) return { lines: pages.exitCodeHelp, data: () => ({ exitCodes: pages.exitCodeTable() }) };
  const group = commands.find((entry) => entry.verbs !== undefined && `${topic} `.startsWith(`${entry.name} `));
  const verbs = (await group?.verbs?.()) ?? [];
  if (group !== undefined && group.name === topic) {
    return { lines: (output) => pages.verbHelp(group, verbs, output), data: () => pages.overviewData(verbs) };
  }
  const entry = [...commands, ...verbs].find(({ name }) => name === topic);
  if (entry !== undefined) {
    const command = await entry.load();
    return { lines: (output) => pages.commandHelp(entry, command, output), data: () => pages.commandData(entry, command) };
  }
  const topics = [...[...commands, ...verbs].map(({ name }) => name), EXIT_CODES_TOPIC];
  throw new HoldfastError('USAGE', {
    message: `there is no help on "${excerpt(topic, 40)}".${didYouMean(topic, topics)}`,
    hint: `The topics are: ${topics.join(', ')}.`,
  });
}
