import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, runProcess } from './support/run-process.ts';
import { whyNoNamespace } from './support/supervised.ts';
import { tempFolder } from './support/temp-folder.ts';

const isBuiltHere = process.platform === 'linux' && process.arch === 'x64' && spawnSync('cc', ['--version']).status === 0;
/** What nothing on the way may change: quotes, spaces, an empty word, a variable, a second `--`. */
const AWKWARD = ['a b', '', '$(RANK)', '"\'\\', '--', 'é\n'];
/** Prints its words and one variable. */
const PRINTER = 'for word; do printf "[%s]" "$word"; done; printf " %s" "$MARK"';

describe.skipIf(!isBuiltHere)('holdfast-launch (needs Linux on x64 and a C compiler)', () => {
  const folder = tempFolder();
  const native = join(folder.path, 'native');
  const launcher = join(native, 'holdfast-launch-linux-x64');
  let count = 0;
  beforeAll(async () => {
    mkdirSync(native);
    expect(await runProcess('sh', [join(ROOT, 'native/build.sh'), native])).toMatchObject({ code: 0, stderr: '' });
  });
  afterAll(() => folder[Symbol.dispose]());

  const script = (text: string): string => {
    const path = join(folder.path, `program-${count++}`);
    writeFileSync(path, `#!/bin/sh\n${text}\n`);
    chmodSync(path, 0o755);
    return path;
  };
  /** A supervisor whose test passes, and which then runs the text. */
  const supervisor = (text: string): string => script(`[ "$1" = --version ] && exit 0\n${text}`);
  const launch = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runProcess(launcher, args, { env: { PATH: '/usr/bin:/bin', ...env } });
  const check = (program: string) => launch(['--check', program]);

  it('needs no library, not even C’s', async () => {
    const { stdout } = await runProcess('readelf', ['--program-headers', launcher]);
    expect(stdout).toContain('LOAD');
    expect(stdout).not.toMatch(/INTERP|DYNAMIC/);
  });

  it('starts the supervisor with all words unchanged where the test passed', async () => {
    const program = supervisor(`printf 'supervisor '\n${PRINTER}`);
    expect(await check(program)).toEqual({ code: 0, stdout: '', stderr: '' });
    const { code, stdout } = await launch([program, '--grace=30s', '--', 'train', ...AWKWARD], { MARK: 'seen' });
    expect(code).toBe(0);
    expect(stdout).toBe(`supervisor ${['--grace=30s', '--', 'train', ...AWKWARD].map((word) => `[${word}]`).join('')} seen`);
  });

  it('starts the trainer’s own command with all words unchanged where no test passed', async () => {
    const trainer = script(PRINTER);
    const { code, stdout } = await launch([supervisor('echo supervised'), '--grace=30s', '--', trainer, ...AWKWARD], { MARK: 'seen' });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${AWKWARD.map((word) => `[${word}]`).join('')} seen` });
  });

  it('finds the trainer in PATH like a container runtime', async () => {
    expect(await launch(['/no-supervisor', '--', 'echo', 'found'], { PATH: '/nowhere:/usr/bin:/bin' })).toMatchObject({
      stdout: 'found\n',
    });
  });

  it.each([
    ['has another exit code', 'exit 3', 'it ended with exit code 3'],
    ['is killed', 'kill -9 $$', 'it was killed by signal 9'],
  ])('notes no test as passed whose supervisor %s, and says so', async (_, text, said) => {
    const program = script(text);
    const { code, stderr } = await check(program);
    expect({ code, stderr }).toEqual({ code: 0, stderr: `NOT_RUNNABLE: the supervisor does not run in this image: ${said}\n` });
    expect(await launch([program, '--', 'echo', 'alone'])).toMatchObject({ code: 0, stdout: 'alone\n' });
  });

  it('notes no test as passed where the loader of the supervisor is missing', async () => {
    const program = join(folder.path, 'without-loader');
    writeFileSync(program, '#!/no/such/loader\n', { mode: 0o755 });
    expect(await check(program)).toMatchObject({ code: 0, stderr: expect.stringContaining('exit code 127') as string });
    expect(existsSync(`${program}.passed`)).toBe(false);
  });

  it('fails instead where the run was supervised before', async () => {
    expect(await launch(['--require', script('exit 3')])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('NOT_RUNNABLE') as string,
    });
    expect(await launch(['--require', supervisor('')])).toMatchObject({ code: 0 });
  });

  it.each([
    ['does not exist', 'no-such-program', 127],
    ['is not executable', '/etc/passwd', 126],
  ])('ends as a shell does when the trainer %s', async (_, program, code) => {
    expect(await launch(['/no-supervisor', '--', program])).toMatchObject({ code, stderr: expect.stringContaining(program) as string });
  });

  it('asks for another try when a supervisor that passed cannot be started', async () => {
    const program = supervisor('');
    await check(program);
    chmodSync(program, 0o644);
    const { code, stderr } = await launch([program, '--', 'echo', 'alone']);
    expect({ code, stderr }).toEqual({ code: 75, stderr: `holdfast-launch: cannot start ${program} (error 13)\n` });
  });

  it.each([[[]], [['/supervisor']], [['/supervisor', '--']]])('refuses a command line without a trainer: %j', async (args) => {
    expect(await launch(args)).toMatchObject({ code: 64, stderr: expect.stringContaining('usage') as string });
  });

  it('becomes the supervisor, so that its signals arrive there', async () => {
    const program = supervisor('trap "echo heard; exit 7" TERM; echo ready $$; while :; do sleep 0.05; done');
    await check(program);
    const child = spawn(launcher, [program, '--', 'true'], { stdio: ['ignore', 'pipe', 'ignore'] });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    child.stdout.once('data', () => child.kill('SIGTERM'));
    const [code] = (await once(child, 'close')) as readonly unknown[];
    expect({ code, said }).toEqual({ code: 7, said: `ready ${child.pid}\nheard\n` });
  });

  it('copies itself and the supervisor, executable for all, over what was there', async () => {
    const to = join(folder.path, 'bin');
    mkdirSync(to);
    const program = supervisor('echo copied');
    for (let times = 0; times < 2; times++) expect(await launch(['--install', to, program])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(readdirSync(to).toSorted()).toEqual(['holdfast-launch', 'holdfast-run']);
    expect(readFileSync(join(to, 'holdfast-launch')).equals(readFileSync(launcher))).toBe(true);
    expect(readFileSync(join(to, 'holdfast-run'), 'utf8')).toBe(readFileSync(program, 'utf8'));
    for (const name of readdirSync(to)) expect(statSync(join(to, name)).mode & 0o777).toBe(0o555);
  });

  it('names what it could not copy', async () => {
    const to = join(folder.path, 'empty');
    expect(await launch(['--install', to, '/no-such-supervisor'])).toMatchObject({
      code: 1,
      stderr: `FAILED: cannot write ${to}/holdfast-launch.unfinished (error 2)\n`,
    });
    mkdirSync(to);
    expect(await launch(['--install', to, '/no-such-supervisor'])).toMatchObject({
      code: 1,
      stderr: 'FAILED: cannot read /no-such-supervisor (error 2)\n',
    });
    expect(readdirSync(to)).toEqual(['holdfast-launch']);
  });

  it.skipIf(whyNoNamespace() !== null)('refuses a folder in which no program can be started', async () => {
    const to = join(folder.path, 'noexec');
    mkdirSync(to);
    const line = `mount -t tmpfs -o noexec tmpfs ${to} && ${launcher} --install ${to} ${supervisor('')}`;
    expect(await runProcess('unshare', ['--mount', 'sh', '-c', line])).toMatchObject({
      code: 1,
      stderr: 'NOEXEC: the emptyDir volumes of this node are mounted with noexec\n',
    });
  });
});
