import { type CompletedCommand, type CompletedOperand, type CompletedOption, type CompletionModel, quoted } from './model.ts';

/** The completion script for zsh, as a file `_holdfast` in fpath or sourced after compinit. */
export function zshCompletion({ commands, globalOptions }: CompletionModel): string {
  return `#compdef holdfast
# zsh completion for holdfast; made by \`holdfast completion zsh\`
_holdfast() {
  local context state state_descr line program=$words[1]
  typeset -A opt_args
  _arguments -C \\
${argumentLines(globalOptions)}
    '1:command:->command' \\
    '*::argument:->argument'
  case $state in
    command)
      local -a commands=(
${commands.map(({ name, summary }) => `        ${quoted(`${name}:${summary}`)}`).join('\n')}
      )
      _describe command commands ;;
    argument)
      case $line[1] in
${commands.map((command) => commandCase(command, globalOptions)).join('\n')}
      esac ;;
  esac
}
if [[ $funcstack[1] == _holdfast ]]; then _holdfast "$@"; else compdef _holdfast holdfast; fi
`;
}

function commandCase(command: CompletedCommand, globalOptions: readonly CompletedOption[]): string {
  const { name, options, operand, verbs } = command;
  if (verbs.length > 0) return groupCase(command, globalOptions);
  const ask = operand.kind === 'lines' ? `local -a answers=(\${(f)"$($program ${operand.line} 2>/dev/null)"})\n          ` : '';
  return `        ${name})
          ${ask}_arguments -S \\
${argumentLines([...options, ...globalOptions])}
            ${operandSpec(operand)} ;;`;
}

/** A command with commands below it: the next word is one of them. */
function groupCase({ name, verbs }: CompletedCommand, globalOptions: readonly CompletedOption[]): string {
  return `        ${name})
          _arguments -C -S \\
${argumentLines(globalOptions)}
            '1:command:->verb' \\
            '*::argument:->verbargument'
          case $state in
            verb)
              local -a verbs=(
${verbs.map((verb) => `                ${quoted(`${verb.name}:${verb.summary}`)}`).join('\n')}
              )
              _describe command verbs ;;
            verbargument)
              case $line[1] in
${verbs.map((verb) => commandCase(verb, globalOptions)).join('\n')}
              esac ;;
          esac ;;`;
}

function argumentLines(options: readonly CompletedOption[]): string {
  return options.flatMap((option) => specs(option).map((spec) => `    ${spec} \\`)).join('\n');
}

function specs({ name, short, description, value }: CompletedOption): string[] {
  const text = `[${description.replaceAll(/[[\]\\:]/g, '\\$&')}]`;
  if (value !== null) {
    const offer = value.words.length === 0 ? ' ' : `(${value.words.join(' ')})`;
    return [quoted(`--${name}=${text}:${value.name}:${offer}`)];
  }
  return short === null ? [quoted(`--${name}${text}`)] : [`{-${short},--${name}}${quoted(text)}`];
}

function operandSpec(operand: CompletedOperand): string {
  switch (operand.kind) {
    case 'none':
      return "'*: :'";
    case 'paths':
      return "'*:path:_files'";
    case 'words':
      return quoted(`1:word:(${operand.words.join(' ')})`);
    case 'lines':
      return '"1:word:($answers)"';
  }
}
