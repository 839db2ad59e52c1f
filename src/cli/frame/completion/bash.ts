import { type CompletedCommand, type CompletedOption, type CompletionModel, quoted } from './model.ts';

/** The completion script for bash 4 and later; it needs nothing but bash itself. */
export function bashCompletion({ commands, globalOptions }: CompletionModel): string {
  const withValue = unique(
    [...globalOptions, ...commands.flatMap(({ options, verbs }) => [...options, ...verbs.flatMap((verb) => verb.options)])].filter(
      ({ value }) => value !== null,
    ),
  );
  const groups =
    commands
      .filter(({ verbs }) => verbs.length > 0)
      .map(({ name }) => name)
      .join('|') || "''";
  return `# bash completion for holdfast; made by \`holdfast completion bash\`
_holdfast() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command= word i
  # bash splits --option=value into three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]] && ((COMP_CWORD > 2)); then
    previous=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  COMPREPLY=()
  case $previous in
${withValue.map((option) => `    --${option.name}) COMPREPLY=($(compgen -W ${quoted(option.value?.words.join(' ') ?? '')} -- "$current")); return ;;`).join('\n')}
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case $word in
${withValue.map(({ name }) => `      --${name}) [[ \${COMP_WORDS[i+1]} == = ]] && ((i += 2)) || ((i += 1)) ;;`).join('\n')}
      -*) ;;
      *)
        command=\${command:+$command }$word
        case $command in ${groups}) ;; *) break ;; esac ;;
    esac
  done
  case $command in
    '')
      if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W ${quoted(words(globalOptions))} -- "$current"))
      else
        COMPREPLY=($(compgen -W ${quoted(commands.map(({ name }) => name).join(' '))} -- "$current"))
      fi ;;
${commands.flatMap((command) => commandCases(command, globalOptions)).join('\n')}
  esac
}
complete -F _holdfast holdfast
`;
}

function commandCases(command: CompletedCommand, globalOptions: readonly CompletedOption[]): string[] {
  const { name, verbs } = command;
  if (verbs.length === 0) return [commandCase(command, globalOptions)];
  const offered = { kind: 'words', words: verbs.map((verb) => verb.name) } as const;
  const below = verbs.map((verb) => commandCase({ ...verb, name: quoted(`${name} ${verb.name}`) }, globalOptions));
  return [commandCase({ ...command, operand: offered }, globalOptions), ...below];
}

function commandCase({ name, options, operand }: CompletedCommand, globalOptions: readonly CompletedOption[]): string {
  const reply = ((): string => {
    switch (operand.kind) {
      case 'none':
        return ':';
      case 'paths':
        return `compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current")`;
      case 'words':
        return `COMPREPLY=($(compgen -W ${quoted(operand.words.join(' '))} -- "$current"))`;
      case 'lines':
        return `COMPREPLY=($(compgen -W "$("\${COMP_WORDS[0]}" ${operand.line} 2>/dev/null)" -- "$current"))`;
    }
  })();
  return `    ${name})
      if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W ${quoted(words([...options, ...globalOptions]))} -- "$current"))
      else
        ${reply}
      fi ;;`;
}

function words(options: readonly CompletedOption[]): string {
  return options.map(({ name }) => `--${name}`).join(' ');
}

function unique(options: readonly CompletedOption[]): CompletedOption[] {
  return [...new Map(options.map((option) => [option.name, option])).values()];
}
