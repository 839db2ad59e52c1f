import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LAUNCHER, runProcess } from './support/run-process.ts';
import { tempFolder } from './support/temp-folder.ts';

/** A folder with only the system tools of the launcher, so that it finds no node by accident. */
function pathWithoutNode(folder: string): string {
  const bin = join(folder, 'tools');
  mkdirSync(bin);
  for (const tool of ['sh', 'readlink', 'env']) symlinkSync(`/usr/bin/${tool}`, join(bin, tool));
  return bin;
}

/**
 * A node that answers only the question for its version, and prints the command that it would run.
 */
function fakeNode(folder: string, version: string): string {
  const bin = join(folder, `node-${version}`);
  mkdirSync(bin);
  const file = join(bin, 'node');
  writeFileSync(file, `#!/bin/sh\nif [ "$1" = --version ]; then echo ${version}; else echo "ran $*"; fi\n`);
  chmodSync(file, 0o755);
  return bin;
}

/**
 * A copy of the launcher in a folder that looks like a clone (sources) or an installed package
 * (compiled).
 */
function installation(folder: string, kind: 'clone' | 'package' | 'broken'): string {
  const root = join(folder, 'an installation');
  mkdirSync(join(root, 'bin'), { recursive: true });
  const main = { clone: 'src/cli/main.ts', package: 'dist/cli/main.js', broken: 'dist/other.js' }[kind];
  mkdirSync(join(root, dirname(main)), { recursive: true });
  writeFileSync(join(root, main), '');
  const launcher = join(root, 'bin', basename(LAUNCHER));
  cpSync(LAUNCHER, launcher);
  return launcher;
}

describe('the launcher', () => {
  it.each(['clone', 'package'] as const)('of a %s runs on a node of the PATH that is new enough', async (kind) => {
    using folder = tempFolder();
    const launcher = installation(folder.path, kind);
    for (const version of ['v22.18.0', 'v24.0.0', 'v100.1.0']) {
      const env = { PATH: `${fakeNode(folder.path, version)}:${process.env['PATH']}` };
      const { code, stdout } = await runProcess(launcher, ['verify', 'a b', '--deep'], { env });
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^ran .*cli\/main\.[jt]s verify a b --deep\n$/)]);
    }
  });

  it.each([
    ['clone', 'v20.20.2', /^ {2}Run `npm ci` in .*an installation: it brings a runtime of its own\.$/m],
    ['package', 'v20.20.2', /^ {2}Install Node\.js 22\.18 or newer/m],
    ['package', 'v22.17.9', /^ {2}Install Node\.js 22\.18 or newer/m],
    ['package', 'nonsense', /^ {2}Install Node\.js 22\.18 or newer/m],
  ] as const)('of a %s names what is missing, and the way out, if the PATH has node %s', async (kind, version, wayOut) => {
    using folder = tempFolder();
    const env = { PATH: `${fakeNode(folder.path, version)}:${process.env['PATH']}` };
    const { code, stdout, stderr } = await runProcess(installation(folder.path, kind), ['--version'], { env });
    expect([code, stdout]).toEqual([69, '']);
    expect(stderr).toMatch(new RegExp(`^error NO_RUNTIME: Holdfast needs Node\\.js 22\\.18 or newer; /.*/node is ${version}\n`));
    expect(stderr).toMatch(wayOut);
  });

  it('fails with a clear message when there is no node at all', async () => {
    using folder = tempFolder();
    const env = { PATH: pathWithoutNode(folder.path) };
    const { code, stderr } = await runProcess(installation(folder.path, 'package'), ['--version'], { env });
    expect(code).toBe(69);
    expect(stderr).toMatch(
      /^error NO_RUNTIME: Holdfast needs Node\.js 22\.18 or newer, and there is none on the PATH\n {2}Install Node\.js/,
    );
  });

  it('fails with a clear message when the compiled code is missing', async () => {
    using folder = tempFolder();
    const { code, stderr } = await runProcess(installation(folder.path, 'broken'), ['--version']);
    expect(code).toBe(69);
    expect(stderr).toMatch(/^error NO_RUNTIME: this installation of Holdfast is incomplete: .*dist\/cli\/main\.js is missing\n/);
  });

  it('of this clone runs on the pinned runtime, whatever node is on the PATH', async () => {
    using folder = tempFolder();
    for (const PATH of [`${fakeNode(folder.path, 'v20.20.2')}:${process.env['PATH']}`, pathWithoutNode(folder.path)]) {
      expect(await runProcess(LAUNCHER, ['--version'], { env: { PATH } })).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^holdfast/) as string,
      });
    }
  });

  it('is found through chains of links, absolute and relative, and from any folder', async () => {
    using folder = tempFolder();
    mkdirSync(join(folder.path, 'bin'));
    symlinkSync(LAUNCHER, join(folder.path, 'absolute'));
    symlinkSync('../absolute', join(folder.path, 'bin', 'holdfast'));
    const env = { PATH: `${join(folder.path, 'bin')}:${process.env['PATH']}` };
    for (const name of [join(folder.path, 'bin', 'holdfast'), 'holdfast']) {
      expect((await runProcess('sh', ['-c', `${name} --version`], { cwd: '/', env })).stdout).toMatch(/^holdfast \d/);
    }
  });
});
