import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../src/cli/commands/index.ts';
import { LAUNCHER, ROOT, runProcess } from './support/run-process.ts';
import { tempFolder } from './support/temp-folder.ts';

/** All code that reads, judges, keeps and copies checkpoints. */
const CHECKPOINTS = ['remote/', 'store/', 'verify/', 'formats/', 'bytes/', 'seal/', 'evidence/', 'volumes/'];

/**
 * The modules that each command may load beyond `src/core` and the frame of the command line:
 * prefixes below `src/`.
 */
const OWN: Readonly<Record<string, { readonly args: readonly string[]; readonly own: readonly string[]; readonly path?: string }>> = {
  run: {
    args: ['run', '--dir=README.md', '--', 'true'],
    own: ['cli/commands/run/', 'cli/remote/remote-options.ts', 'supervisor/', 'ledger/', 'domain/', ...CHECKPOINTS],
  },
  // Without Python there is no demo: it ends before the first trainer.
  demo: { args: ['demo'], own: ['cli/commands/demo/', 'demo/', 'ledger/', 'domain/'], path: '/nonexistent' },
  verify: {
    args: ['verify', 'test/fixtures/whole/torch-zip-train/data', '--deep'],
    own: ['cli/commands/verify/', ...CHECKPOINTS],
  },
  probe: {
    args: ['probe', '--quick', 'docs'],
    own: ['cli/commands/probe/', 'cli/remote/remote-options.ts', 'volumes/'],
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
    ).map((args) => [
      args[0],
      {
        args,
        own: [
          `cli/commands/${args[0]}/`,
          'cli/store/',
          'cli/commands/pin/',
          'cli/commands/verify/render-verdict.ts',
          'cli/remote/remote-options.ts',
          ...CHECKPOINTS,
        ],
      },
    ]),
  ),
  log: { args: ['log', 'examples/checkpoints/trainer-run'], own: ['cli/commands/log/', 'ledger/', 'domain/'] },
  why: {
    args: ['why', '-f', 'examples/kubernetes/job/torch.yaml', 'job/torch'],
    own: [
      'cli/commands/why/',
      'cli/cluster/',
      'cli/commands/log/time-axis.ts',
      'why/',
      'operator/kinds/names.ts',
      'operator/training-run/',
      'kube/objects/',
      'ledger/',
      'domain/',
    ],
  },
  grace: {
    args: ['grace', '-f', 'examples/kubernetes/job/torch.yaml'],
    own: ['cli/commands/grace/', 'cli/cluster/', 'grace/', 'kube/objects/', 'ledger/', 'domain/'],
  },
  whatif: {
    args: ['whatif', 'apply', '-f', 'examples/whatif/inference.yaml', '-s', 'examples/whatif/cluster.json'],
    own: ['cli/commands/whatif/', 'cli/cluster/', 'whatif/', 'operator/room/', 'operator/kinds/', 'scheduler/', 'kube/', 'domain/grace/'],
  },
  ...Object.fromEntries(
    (
      [
        ['ship', 'examples/checkpoints/trainer-run', 'file:///nonexistent/folder'],
        ['fetch', 'file:///nonexistent/folder', 'examples/checkpoints/no-such-run'],
      ] as const
    ).map((args) => [args[0], { args, own: [`cli/commands/${args[0]}/`, 'cli/remote/', ...CHECKPOINTS] }]),
  ),
  lint: {
    args: ['lint', 'examples/kubernetes', 'examples/torch'],
    own: ['cli/commands/lint/', 'cli/inputs/', 'lint/', 'domain/grace/', 'cli/frame/version.ts'],
  },
  adopt: {
    args: ['adopt', '-f', 'examples/kubernetes/job/torch.yaml'],
    own: ['cli/commands/adopt/', 'cli/inputs/', 'lint/', 'domain/', 'cli/frame/version.ts'],
  },
  queue: {
    args: ['queue', 'status', '--url=http://127.0.0.1:1'],
    own: [
      'cli/commands/queue/verbs.ts',
      'cli/commands/queue/connect.ts',
      'cli/commands/queue/status.ts',
      'cli/commands/queue/render-status.ts',
      'domain/queue/names.ts',
      'queue/client/',
    ],
  },
  operator: {
    args: ['operator', 'run', '--kubeconfig=/nonexistent'],
    own: [
      ...['cli/commands/operator/', 'cli/cluster/', 'cli/frame/listen-address.ts', 'operator/', 'kube/', 'domain/'],
      // Making room asks the scheduler's rules; supervision checks the place of copies.
      ...['scheduler/', 'remote/backends/location.ts', 'seal/relative-path.ts'],
    ],
  },
  explain: { args: ['explain'], own: ['cli/commands/explain/', 'domain/', 'evidence/', 'lint/', 'verify/verdict-meanings.ts'] },
  // These two describe the other commands: they load the definitions of all, and the library of
  // none.
  completion: {
    args: ['completion', 'bash'],
    own: [
      'cli/commands/',
      'cli/cluster/cluster-options.ts',
      'cli/frame/completion/',
      'cli/frame/listen-address.ts',
      'cli/remote/remote-options.ts',
      'domain/queue/',
      'lint/manifest/size-limits.ts',
      'queue/text-lines.ts',
    ],
  },
  help: { args: ['help', 'verify'], own: ['cli/commands/help/', 'cli/commands/verify/verify.ts', 'cli/frame/help.ts'] },
};

/** The frame of every command. */
const SHARED = [
  'core/',
  'cli/main.ts',
  'cli/run-process.ts',
  ...['command', 'global-options', 'option-values', 'parse', 'run-cli', 'suggest', 'version'].map((name) => `cli/frame/${name}.ts`),
  'cli/output/',
  'cli/commands/index.ts',
];

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
  it('knows every command and its allowed modules', () => {
    expect(Object.keys(OWN)).toEqual(COMMANDS.map(({ name }) => name));
  });

  it.each(Object.entries(OWN))('%s loads code of no other command', async (_, { args, own, path }) => {
    const files = await loaded(args, path);
    expect(files).toContain('cli/frame/run-cli.ts');
    const allowed = [...SHARED, ...own];
    expect(files.filter((file) => !allowed.some((prefix) => file.startsWith(prefix)))).toEqual([]);
  });

  it('--version loads two files', async () => {
    expect(await loaded(['--version'])).toEqual(['cli/main.ts', 'cli/frame/version.ts']);
  });

  it('a usage error loads the library of no command', async () => {
    expect((await loaded(['verify', '--depe'])).filter((file) => CHECKPOINTS.some((prefix) => file.startsWith(prefix)))).toEqual([]);
  });
});
