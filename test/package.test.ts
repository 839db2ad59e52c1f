import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ROOT, runProcess } from './support/run-process.ts';
import { tempFolder } from './support/temp-folder.ts';

/** The oldest supported line of Node.js, as a platform package of the registry. */
const NODE_22 = `node-${process.platform}-${process.arch}@22.23.3`;
const CACHE = process.env['HOLDFAST_CACHE'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'holdfast');

async function npm(cwd: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProcess('npm', args, { cwd, env: process.env });
  expect({ code, said: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, said: '' });
  return stdout;
}

/**
 * Node 22 in the cache folder. It is installed under another name first, so that a killed
 * installation never looks complete.
 */
async function node22(): Promise<string> {
  const home = join(CACHE, 'node-22');
  const node = join(home, 'node_modules', NODE_22.split('@')[0] ?? '', 'bin', 'node');
  if (existsSync(node)) return node;
  const unfinished = `${home}.${process.pid}.unfinished`;
  mkdirSync(unfinished, { recursive: true });
  await npm(unfinished, 'install', '--prefix', unfinished, '--no-audit', '--no-fund', NODE_22);
  if (existsSync(node)) rmSync(unfinished, { recursive: true });
  else {
    rmSync(home, { recursive: true, force: true });
    renameSync(unfinished, home);
  }
  return node;
}

describe('the published package', () => {
  const folder = tempFolder();
  const project = join(folder.path, 'project');
  const holdfast = join(project, 'node_modules/.bin/holdfast');
  let runtimes: Readonly<Record<'22' | '24', string>>;

  beforeAll(async () => {
    runtimes = { 22: await node22(), 24: process.execPath };
    await npm(ROOT, 'pack', '--pack-destination', folder.path);
    const tarball = readdirSync(folder.path).find((name) => name.endsWith('.tgz')) ?? 'none';
    mkdirSync(project);
    await npm(project, 'install', '--prefix', project, '--no-audit', '--no-fund', join(folder.path, tarball));
    return () => folder[Symbol.dispose]();
  });

  const run = (version: '22' | '24', ...args: readonly string[]) =>
    runProcess(holdfast, args, { cwd: project, env: { PATH: `${dirname(runtimes[version])}:/usr/bin:/bin` } });

  it('holds the launcher, compiled code, README and licence, and no sources or tests', () => {
    const root = join(project, 'node_modules/holdfast');
    const files = readdirSync(root, { recursive: true }).map(String);
    expect(readdirSync(root).sort()).toEqual(expect.arrayContaining(['LICENSE', 'bin', 'dist', 'package.json']));
    expect(files.filter((name) => /\.ts$|\.test\.|^(src|test|tools|docs)\b/.test(name))).toEqual([]);
  });

  it('has only the dependencies that it needs at run time', () => {
    const { dependencies } = JSON.parse(readFileSync(join(project, 'node_modules/holdfast/package.json'), 'utf8')) as {
      dependencies: object;
    };
    expect(Object.keys(dependencies).sort()).toEqual(['@kubernetes/client-node', '@lezer/python', '@node-rs/crc32', 'pg', 'yaml']);
    const installed = readdirSync(join(project, 'node_modules'));
    for (const tool of ['vitest', 'typescript', 'oxlint', 'rolldown']) expect(installed).not.toContain(tool);
  });

  describe.each(['22', '24'] as const)('on Node %s', (version) => {
    it('is that version of Node', async () => {
      expect((await runProcess(runtimes[version], ['--version'])).stdout).toMatch(new RegExp(`^v${version}\\.`));
    });

    it('prints its version', async () => {
      expect(await run(version, '--version')).toEqual({ code: 0, stdout: 'holdfast 0.1.0\n', stderr: '' });
    });

    it('explains codes', async () => {
      expect(await run(version, 'explain', 'FILE_EMPTY')).toMatchObject({
        code: 0,
        stderr: '',
        stdout: expect.stringMatching(/^FILE_EMPTY: /) as string,
      });
    });

    it('verifies a checkpoint, every byte of it', async () => {
      const fixture = join(ROOT, 'test/fixtures/whole/torch-zip-train/data');
      const { code, stdout, stderr } = await run(version, 'verify', '--deep', '--json', fixture);
      expect(stderr).toBe('');
      const report = JSON.parse(stdout) as { paths: { checkpoints: { verdict: string }[] }[] };
      expect(report.paths[0]?.checkpoints.map(({ verdict }) => verdict)).toEqual(['RESUMABLE']);
      expect(code).toBe(0);
    });
  });
});

describe('the sources', () => {
  it('run without a build on the oldest supported Node, without a warning', async () => {
    const main = join(ROOT, 'src/cli/main.ts');
    const fixture = join(ROOT, 'test/fixtures/whole/torch-zip-train/data');
    const args = ['--disable-warning=ExperimentalWarning', main, 'verify', '--deep', fixture];
    expect(await runProcess(await node22(), args)).toMatchObject({ code: 0, stderr: '' });
  });
});
