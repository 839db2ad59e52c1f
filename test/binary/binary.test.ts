import { cpSync, chmodSync, chownSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildExecutable } from '../../tools/binary/executable.ts';
import { ROOT, runProcess } from '../support/run-process.ts';
import { whyNoNamespace } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

const folder = tempFolder();
const binary = join(folder.path, 'holdfast');
const env = { PATH: '/usr/bin:/bin', HOME: join(folder.path, 'home') };

beforeAll(async () => {
  mkdirSync(env.HOME);
  await buildExecutable(binary);
});
afterAll(() => folder[Symbol.dispose]());

describe('the executable', () => {
  it('prints its version', async () => {
    const { version } = JSON.parse((await runProcess(binary, ['--version', '--json'], { env })).stdout) as { version: string };
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  });

  it('verifies like the clone, also with --deep', async () => {
    const args = ['verify', '--deep', '--json', join(ROOT, 'examples/checkpoints')];
    const [ours, theirs] = await Promise.all([runProcess(binary, args, { env }), runProcess(join(ROOT, 'bin/holdfast'), args, { env })]);
    expect(ours.code).toBe(1);
    expect(withoutTimes(ours.stdout)).toEqual(withoutTimes(theirs.stdout));
  });

  it.skipIf(whyNoNamespace() !== null)('leaves no zombies as the first process if there is a shell', async () => {
    const zombies = 'grep -qs "^State:.Z" /proc/[0-9]*/status';
    // The orphan has ended when nobody writes to `cat` any more; whoever has to wait for it does so
    // a moment later.
    const wait = `tries=0; while ${zombies}; do [ $tries -lt 1000 ] || exit 1; tries=$((tries + 1)); sleep 0.02; done`;
    const orphans = `sh -c ':' & (sh -c ':' &) | cat; wait; ${wait}`;
    const first = ['--pid', '--fork', '--mount-proc', '--kill-child'];
    const run = [binary, 'run', `--dir=${join(folder.path, 'first')}`, '--', 'sh', '-c', orphans];
    const { code, stderr } = await runProcess('unshare', [...first, ...run], { env });
    expect({ code, stderr }).toMatchObject({ code: 0 });
  });
});

describe('holdfast-run', () => {
  const small = join(folder.path, 'holdfast-run');
  beforeAll(() => buildExecutable(small, 'holdfast-run').then(() => undefined));

  it('takes the options of run, and runs a trainer that finds the Python package', async () => {
    const trainer = ['python3', join(ROOT, 'examples/stdlib/train.py'), '300', '0.001'];
    const { code, stdout, stderr } = await runProcess(
      small,
      [`--dir=${join(folder.path, 'small')}`, '--every=100steps', '--', ...trainer],
      { env },
    );
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/sealed step 100 /) as string });
    expect(stdout).toMatch(/^from step 0\n/);
  });

  it('refuses what it does not know as run does', async () => {
    expect(await runProcess(small, ['--nonsense', '--', 'true'], { env })).toMatchObject({ code: 64 });
  });
});

/** A report without what differs from run to run. */
function withoutTimes(json: string): unknown {
  return JSON.parse(json, (key, value: unknown) => (/ms$|elapsed|duration|at$/i.test(key) ? null : value));
}

const python = await findPython();

/** Python and where its library lies, or null. */
async function findPython(): Promise<{ readonly program: string; readonly prefix: string } | null> {
  const ask = 'import sys; print(sys.executable); print(sys.base_prefix)';
  const { code, stdout } = await runProcess('python3', ['-c', ask], { env: process.env }).catch(() => ({ code: null, stdout: '' }));
  const [program = '', prefix = ''] = stdout.trim().split('\n');
  return code === 0 ? { program: realpathSync(program), prefix } : null;
}

/** A user that owns nothing. */
const NOBODY = 65_534;

describe.skipIf(whyNoNamespace() !== null || python === null)('on a machine without Node.js and a shell, with a read-only root', () => {
  const data = join(folder.path, 'data');

  beforeAll(() => {
    cpSync(join(ROOT, 'examples/stdlib'), join(data, 'stdlib'), { recursive: true });
    cpSync(join(ROOT, 'test/fixtures/whole/torch-zip-train/data'), join(data, 'saved'), { recursive: true });
    for (const name of ['', ...readdirSync(data, { recursive: true, encoding: 'utf8' })]) chownSync(join(data, name), NOBODY, NOBODY);
    chmodSync(data, 0o755);
  });

  const inside = (...args: readonly string[]) => {
    const root = join(folder.path, 'root');
    mkdirSync(root, { recursive: true });
    const { program, prefix } = python ?? { program: '', prefix: '' };
    const script = [join(ROOT, 'test/binary/root-without-node.sh'), root, binary, data, program, prefix, `${NOBODY}:${NOBODY}`];
    const unshare = ['--mount', '--pid', '--fork', '--kill-child'];
    return runProcess('unshare', [...unshare, ...script, '/holdfast', ...args], {
      env: { PATH: process.env['PATH'], HOME: '/', PYTHONHOME: prefix, PYTHONDONTWRITEBYTECODE: '1' },
    });
  };

  it('an ordinary user seals and verifies a checkpoint', async () => {
    expect(await inside('seal', '/data/saved/step-100.pt')).toMatchObject({ code: 0, stderr: '' });
    const { code, stdout, stderr } = await inside('verify', '--deep', '/data/saved/step-100.pt');
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('RESUMABLE') as string });
  });

  it('an ordinary user runs a trainer that finds the Python package and resumes', async () => {
    const trainer = ['/python3', '/data/stdlib/train.py', '300', '0.001'];
    const { code, stdout, stderr } = await inside('run', '--dir=/data/run', '--every=100steps', '--', ...trainer);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/sealed step [12]00 /) as string });
    expect(stdout).toMatch(/^from step 0\nslope 2\.98913344619/);
    const again = await inside('run', '--again', '--dir=/data/run', '--every=100steps', '--', ...trainer);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^from step [12]01\nslope 2\.98913344619/) as string });
  });
});
