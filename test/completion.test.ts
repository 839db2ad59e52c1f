import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LAUNCHER, runProcess } from './support/run-process.ts';
import { COMMANDS } from '../src/cli/commands/index.ts';
import { tempFolder } from './support/temp-folder.ts';

type Shell = 'bash' | 'zsh' | 'fish';

const isInstalled = (shell: Shell): boolean => spawnSync(shell, ['-c', 'exit 0']).status === 0;

/** Returns the offers of the real shell at the end of the line. */
async function complete(shell: Shell, line: string): Promise<string[]> {
  using folder = tempFolder();
  for (const name of ['run-a', 'run-b']) mkdirSync(join(folder.path, name));
  writeFileSync(join(folder.path, 'run a file.pt'), '');
  const bin = join(folder.path, '.bin');
  mkdirSync(bin);
  symlinkSync(LAUNCHER, join(bin, 'holdfast'));
  const env = { PATH: `${bin}:${process.env['PATH']}`, HOME: folder.path, TERM: 'dumb', LINE: line };
  const { stdout: script } = await runProcess(LAUNCHER, ['completion', shell]);
  const scriptFile = join(bin, 'script');
  writeFileSync(scriptFile, script);
  const { stdout, stderr, code } = await runProcess(shell, ASK[shell](scriptFile), { cwd: folder.path, env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout
    .split('\n')
    .filter((word) => word !== '')
    .map((word) => word.split('\t')[0] ?? '')
    .sort();
}

const ASK: Readonly<Record<Shell, (script: string) => string[]>> = {
  // bash breaks words at = as well, which `compgen` in an interactive shell would do for us.
  bash: (script) => [
    '--norc',
    '-c',
    `source ${script}
     compopt() { :; }
     set -f; COMP_WORDS=($(sed 's/=/ = /g' <<< "$LINE")); set +f
     [[ $LINE == *' ' || $LINE == *= ]] && [[ $LINE != *= ]] && COMP_WORDS+=('')
     COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
     _holdfast
     ((\${#COMPREPLY[@]})) && printf '%s\\n' "\${COMPREPLY[@]}" || true`,
  ],
  zsh: (script) => ['-f', '-c', ZSH_SESSION, script],
  fish: (script) => ['--no-config', '-c', `source ${script}; complete -C "$LINE"`],
};

/**
 * zsh completes only inside its line editor: it runs in a pseudo terminal of zsh's own, and every
 * match is caught as it is added.
 */
const ZSH_SESSION = `
zmodload zsh/zpty
zpty inner zsh -f -i
inner() { zpty -w inner "$1"; }
inner "PS1=; unset zle_bracketed_paste; autoload -Uz compinit; compinit -u -d \${HOME}/.zcompdump; source $0"
inner 'compadd() {
  if [[ " $* " == *" -O "* || " $* " == *" -A "* || " $* " == *" -D "* ]]; then builtin compadd "$@"; return; fi
  local -a matches; builtin compadd -A matches "$@"; builtin compadd "$@"
  (( $#matches )) && print -rl -- $matches >> $HOME/.matches
}'
inner 'ask() { zle list-choices; exit 0 }; zle -N ask; bindkey "^T" ask'
zpty -w -n inner "$LINE"$'\\C-T'
while zpty -r inner ignored 2>/dev/null; do :; done
[[ -f $HOME/.matches ]] && cat $HOME/.matches
exit 0
`;

describe.each(['bash', 'zsh', 'fish'] as const)('completion in %s', (shell) => {
  const test = it.skipIf(!isInstalled(shell));

  test('offers the commands', async () => {
    expect(await complete(shell, 'holdfast ')).toEqual(COMMANDS.map(({ name }) => name).sort());
  });

  test('narrows the commands by the typed letters', async () => {
    expect(await complete(shell, 'holdfast ver')).toEqual(['verify']);
  });

  test('offers the options of the command and the global options', async () => {
    const options = await complete(shell, 'holdfast verify --');
    expect(options.map((option) => option.replace(/=$/, ''))).toEqual(
      expect.arrayContaining(['--deep', '--json', '--last-good', '--progress']),
    );
    expect(await complete(shell, 'holdfast explain --')).not.toContain('--deep');
  });

  test('offers the commands below a command, and their options', async () => {
    const verbs = await complete(shell, 'holdfast queue ');
    expect(verbs).toEqual(expect.arrayContaining(['push', 'serve', 'status', 'work']));
    expect(verbs).not.toContain('verify');
    expect((await complete(shell, 'holdfast queue serve --')).map((option) => option.replace(/=$/, ''))).toContain('--db');
    expect((await complete(shell, 'holdfast queue push --')).map((option) => option.replace(/=$/, ''))).not.toContain('--db');
  });

  test('offers the values of an option', async () => {
    const values = await complete(shell, 'holdfast verify --progress=');
    expect(values.map((value) => value.replace(/^--progress=/, ''))).toEqual(['auto', 'json', 'none']);
  });

  test('offers nothing for a free value, and does not mistake it for the command', async () => {
    expect(await complete(shell, 'holdfast probe --bytes ')).toEqual([]);
    expect(await complete(shell, 'holdfast probe --bytes 1MiB run-')).toEqual(
      ['run-a', 'run-b'].map((name) => expect.stringContaining(name)),
    );
  });

  test('offers paths for a path argument, also with spaces in them', async () => {
    const paths = await complete(shell, 'holdfast verify --deep run');
    expect(paths.map((path) => path.replace(/\/$/, '').replaceAll('\\', '')).sort()).toEqual(['run a file.pt', 'run-a', 'run-b']);
  });

  test('offers the codes that holdfast lists', async () => {
    expect(await complete(shell, 'holdfast explain FILE_EM')).toEqual(['FILE_EMPTY']);
  });

  test('offers verdicts, exit codes and causes to explain', async () => {
    expect(await complete(shell, 'holdfast explain ZOM')).toEqual(['ZOMBIE']);
    expect(await complete(shell, 'holdfast explain 14')).toEqual(['141', '143']);
    expect((await complete(shell, 'holdfast explain aws-')).sort()).toEqual(['aws-maintenance', 'aws-rebalance', 'aws-spot']);
  });

  test('offers the shells and the topics', async () => {
    expect(await complete(shell, 'holdfast completion ')).toEqual(['bash', 'fish', 'zsh']);
    expect(await complete(shell, 'holdfast help ex')).toEqual(['exit-codes', 'explain']);
  });
});
