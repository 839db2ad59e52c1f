import { type CompletedCommand, type CompletedOperand, type CompletedOption, type CompletionModel } from './model.ts';

/** The completion script for fish 3 and later. */
export function fishCompletion({ commands, globalOptions }: CompletionModel): string {
  return [
    '# fish completion for holdfast; made by `holdfast completion fish`',
    'complete -c holdfast -f',
    ...globalOptions.map((option) => optionLine(option, null)),
    ...commands.map(({ name, summary }) => `complete -c holdfast -n '__fish_use_subcommand' -a ${name} -d ${fishQuoted(summary)}`),
    ...commands.flatMap((command) => commandLines(command)),
    '',
  ].join('\n');
}

function commandLines({ name, options, operand, verbs }: CompletedCommand): string[] {
  if (verbs.length === 0) return [...options.map((option) => optionLine(option, name)), ...operandLines(operand, name)];
  const words = verbs.map((verb) => verb.name).join(' ');
  const when = `-n '__fish_seen_subcommand_from ${name}; and not __fish_seen_subcommand_from ${words}'`;
  return [
    ...verbs.map((verb) => `complete -c holdfast ${when} -a ${verb.name} -d ${fishQuoted(verb.summary)}`),
    ...verbs.flatMap((verb) => commandLines({ ...verb, name: `${name}; and __fish_seen_subcommand_from ${verb.name}` })),
  ];
}

function optionLine({ name, short, description, value }: CompletedOption, command: string | null): string {
  const when = command === null ? '' : ` -n '__fish_seen_subcommand_from ${command}'`;
  const letter = short === null ? '' : ` -s ${short}`;
  const words = value === null || value.words.length === 0 ? '' : ` -a ${fishQuoted(value.words.join(' '))}`;
  const values = value === null ? '' : ` -x${words}`;
  return `complete -c holdfast${when} -l ${name}${letter}${values} -d ${fishQuoted(description)}`;
}

function operandLines(operand: CompletedOperand, command: string): string[] {
  const when = `-n '__fish_seen_subcommand_from ${command}'`;
  switch (operand.kind) {
    case 'none':
      return [];
    case 'paths':
      return [`complete -c holdfast ${when} -F`];
    case 'words':
      return [`complete -c holdfast ${when} -a ${fishQuoted(operand.words.join(' '))}`];
    case 'lines':
      return [`complete -c holdfast ${when} -a '(holdfast ${operand.line} 2>/dev/null)'`];
  }
}

/** Inside single quotes fish knows two escapes. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
