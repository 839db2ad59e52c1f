import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../src/cli/commands/index.ts';
import { LAUNCHER, ROOT, runProcess } from './support/run-process.ts';
import { tempFolder } from './support/temp-folder.ts';

/** What each command may load beyond `src/core` and the frame of the command line: prefixes below `src/`. */
const OWN: Readonly<Record<string, { readonly args: readonly string[]; readonly own: readonly string[]; readonly path?: string }>> = {
  run: {
    args: ['run', '--dir=README.md', '--', 'true'],
    own: ['cli/commands/run.ts', 'cli/commands/remote-options.ts', 'cli/run/', 'supervisor/', 'ledger/', 'domain/', 'checkpoint/'],
  },
  // Without a Python there is nothing to show: it ends before the first trainer.
  demo: { args: ['demo'], own: ['cli/commands/demo.ts', 'cli/demo/', 'demo/', 'ledger/', 'domain/'], path: '/nonexistent' },
  verify: {
    args: ['verify', 'test/fixtures/whole/torch-zip-train/data', '--deep'],
    own: ['cli/commands/verify.ts', 'cli/verify/', 'checkpoint/'],
  },
  probe: {
    args: ['probe', '--quick', 'docs'],
    own: ['cli/commands/probe.ts', 'cli/probe/', 'checkpoint/storage/'],
  },
  ...Object.fromEntries(
    (
      [
        ['seal', 'test/fixtures/whole/no-such-checkpoint'],
        ['ls', 'examples/checkpoints/trainer-run'],
        ['resume', 'examples/checkpoints/trainer-run', '--look-only'],
        ['prune', 'examples/checkpoints/trainer-run', '--keep=1', '--dry-run'],
        ['pin', 'examples/checkpoints/trainer-run/checkpoint-2'],
        ['unpin', 'examples/checkpoints/trainer-run/checkpoint-2'],
        ['rollback', 'examples/checkpoints/trainer-run', '--undo'],
        ['quarantine', 'examples/checkpoints/trainer-run'],
      ] as const
    ).map((args) => [args[0], { args, own: [`cli/commands/${args[0]}.ts`, 'cli/store/', 'cli/verify/render-verdict.ts', 'checkpoint/'] }]),
  ),
  log: { args: ['log', 'examples/checkpoints/trainer-run'], own: ['cli/commands/log.ts', 'cli/log/', 'ledger/', 'domain/'] },
  ...Object.fromEntries(
    (
      [
        ['ship', 'examples/checkpoints/trainer-run', 'file:///nonexistent/folder'],
        ['fetch', 'file:///nonexistent/folder', 'examples/checkpoints/no-such-run'],
      ] as const
    ).map((args) => [
      args[0],
      { args, own: [`cli/commands/${args[0]}.ts`, 'cli/commands/remote-options.ts', 'cli/remote/', 'checkpoint/'] },
    ]),
  ),
  explain: { args: ['explain'], own: ['cli/commands/explain.ts', 'checkpoint/evidence/'] },
  // These two speak about the other commands: they load the definitions of all, and the library of none.
  completion: { args: ['completion', 'bash'], own: ['cli/commands/', 'cli/completion/'] },
  help: { args: ['help', 'verify'], own: ['cli/commands/help.ts', 'cli/commands/verify.ts', 'cli/help.ts'] },
};

/** The frame every command lives in. */
const FRAME = ['core/', 'cli/main.ts', 'cli/version.ts', 'cli/run', 'cli/command.ts', 'cli/parse.ts', 'cli/suggest.ts'];
const SHARED = [...FRAME, 'cli/global-options.ts', 'cli/option-values.ts', 'cli/output/', 'cli/commands/index.ts'];

/** The files below `src/` that a command line loads. */
async function loaded(args: readonly string[], path = process.env['PATH']): Promise<string[]> {
  using dir = tempFolder();
  const trace = join(dir.path, 'loaded');
  const env = {
    PATH: path,
    NODE_OPTIONS: `--import=${join(ROOT, 'test/support/trace-modules.mjs')}`,
    TRACE_MODULES_TO: trace,
  };
  const { stderr } = await runProcess(LAUNCHER, args, { cwd: ROOT, env });
  expect(stderr).not.toContain('INTERNAL');
  const files = (await readFile(trace, 'utf8')).trimEnd().split('\n');
  const source = join(ROOT, 'src/');
  return files.filter((file) => file.startsWith(source)).map((file) => file.slice(source.length));
}

describe('lazy loading', () => {
  it('knows every command: one that is added says here what it may load', () => {
    expect(Object.keys(OWN)).toEqual(COMMANDS.map(({ name }) => name));
  });

  it.each(Object.entries(OWN))('%s loads code of no other command', async (_, { args, own, path }) => {
    const files = await loaded(args, path);
    expect(files).toContain('cli/run.ts');
    const allowed = [...SHARED, ...own];
    expect(files.filter((file) => !allowed.some((prefix) => file.startsWith(prefix)))).toEqual([]);
  });

  it('--version loads two files', async () => {
    expect(await loaded(['--version'])).toEqual(['cli/main.ts', 'cli/version.ts']);
  });

  it('a usage error loads the library of no command', async () => {
    expect((await loaded(['verify', '--depe'])).filter((file) => file.startsWith('checkpoint/'))).toEqual([]);
  });
});
