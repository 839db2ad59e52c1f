import { symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ProcessResult, ROOT, runProcess } from '../support/run-process.ts';
import { findFacility, whyNoCluster } from './cluster/facility.ts';
import { clustersElsewhere, removeCluster } from './cluster/leftovers.ts';
import { type OwnCache, ownCache } from './cluster/own-cache.ts';

const SETUP = join(ROOT, 'test/kubernetes/setup.sh');
const WHOLE_LIFE = join(ROOT, 'test/kubernetes/accidents/whole-life.ts');
/** Of two lists; the difference is told where everybody reads it. */
const SAME =
  'if [ "$before" != "$after" ]; then printf "%s\n" "$before" > "$HOLDFAST_CACHE/before"; diff "$HOLDFAST_CACHE/before" - <<< "$after"; fi';
const START = `'${process.execPath}' '${ROOT}test/kubernetes/real.ts' --nodes=1`;
const reason = whyNoCluster();
const built = reason === null ? findFacility().folder : '';

describe.skipIf(reason !== null)(`a machine${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cache: OwnCache;
  beforeEach(() => {
    cache = ownCache();
    vi.stubEnv('HOLDFAST_CACHE', cache.path);
  });
  afterEach(async () => {
    // What a machine of its own has left when a test fails is nobody's, since its processes went with it.
    for (const place of clustersElsewhere()) await removeCluster(place);
    vi.unstubAllEnvs();
    await cache[Symbol.asyncDispose]();
  });

  const ownEnvironment = (): Readonly<Record<string, string | undefined>> => {
    const { PATH, HOME } = process.env;
    return { PATH, HOME, HOLDFAST_CACHE: cache.path, BUILT: built };
  };

  /** Runs a command on a machine of its own: with other processes, mounts and network, and without a way out. It has a cache of its own. */
  function elsewhere(command: string): Promise<ProcessResult> {
    const apart = ['--mount', '--pid', '--net', '--fork', '--kill-child=KILL', '--mount-proc'];
    // The shell stays as the first process, which has to look after those that nobody waits for.
    return runProcess('unshare', [...apart, 'bash', '-ec', `${command}\nexit`], { env: ownEnvironment() });
  }

  /** Starts a cluster on a machine that these lines of shell have made what it is; tells what is in its cache afterwards, and what was left on the machine. */
  function startedOn(...lines: readonly string[]): Promise<ProcessResult> {
    const told = `import { machineList } from '${ROOT}test/kubernetes/accidents/machine-list.ts'; console.log(machineList('${cache.path}', []).join('\\n'))`;
    const list = `$('${process.execPath}' --input-type=module --eval "${told}")`;
    const whole = [...lines, `before=${list}`, `${START} || code=$?`, `after=${list}`, 'ls "$HOLDFAST_CACHE"', SAME, 'exit ${code:-0}'];
    return elsewhere(whole.join('\n'));
  }

  const hideDevices = ['mount -t tmpfs tmpfs /dev', 'mknod -m 666 /dev/null c 1 3', 'mknod -m 666 /dev/urandom c 1 9'];
  const linkBuilt = 'ln -s "$BUILT" "$HOLDFAST_CACHE"';

  it.each([
    [
      'with little disk',
      ['mount -t tmpfs -o size=3m tmpfs "$HOLDFAST_CACHE"', linkBuilt],
      /^error: a cluster of 1 node needs 640 MiB at least, and \S+ has [0-3] MiB free: make room there, or set HOLDFAST_CACHE/m,
    ],
    ['without loop devices', [linkBuilt, ...hideDevices], /^error: a cluster needs loop devices: there is no \/dev\/loop-control$/m],
    [
      'whose loop devices are all in use',
      [linkBuilt, ...hideDevices, 'mknod -m 666 /dev/loop-control c 1 3'],
      /^error: a cluster needs a loop device for every node, and none is free: losetup: .*; `losetup --list` tells who has them$/m,
    ],
  ])('%s is refused with a clear sentence before anything of a cluster is made', async (_, lines, sentence) => {
    const { code, stdout, stderr } = await startedOn(...lines);
    expect(stderr).toMatch(sentence);
    expect({ code, stdout }).toEqual({ code: 1, stdout: `${basename(built)}\n` });
  });

  it('with little disk for a build is told before anything is built', async () => {
    const { code, stderr } = await elsewhere(`mount -t tmpfs -o size=3m tmpfs "$HOLDFAST_CACHE"\n'${SETUP}'`);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `to build Kubernetes ${cache.path} needs 1024 MiB free, and has 3: make room there, or set HOLDFAST_CACHE to a folder on a larger disk\n`,
    );
  });

  it('without any network builds nothing anew, and has a cluster that finds its ports taken by others; afterwards the machine is as it was', async () => {
    symlinkSync(built, join(cache.path, basename(built)));
    expect(await elsewhere(`'${SETUP}'`)).toEqual({ code: 0, stdout: `${join(cache.path, basename(built))}\n`, stderr: '' });
    const { stdout, stderr } = await elsewhere(`'${process.execPath}' '${WHOLE_LIFE}'`);
    const life = JSON.parse(stdout || JSON.stringify(stderr)) as Readonly<Record<'before' | 'meanwhile' | 'after', readonly string[]>>;
    expect(life.after).toEqual(life.before);
    const made = life.meanwhile.filter((line) => !life.before.includes(line)).map((line) => line.split(' ')[0]);
    expect(new Set(made)).toEqual(new Set(['cgroup', 'loop', 'namespace', 'process']));
  });
});
