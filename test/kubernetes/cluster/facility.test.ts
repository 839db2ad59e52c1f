import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, bash, runProcess } from '../../support/run-process.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { whyNoTools } from './facility.ts';

const SETUP = join(ROOT, 'test/kubernetes/setup.sh');
/** What the script itself is made of. */
const PLAIN = ['awk', 'bash', 'cut', 'df', 'dirname', 'find', 'sed', 'sha256sum', 'sort', 'tail', 'xargs'];

it('programs that a machine lacks are named, with the packages that have them', () => {
  expect(whyNoTools(() => true)).toBeNull();
  expect(whyNoTools((tool) => !['ip', 'nsenter', 'unshare'].includes(tool))).toBe(
    'a cluster needs ip, nsenter, unshare, which this machine lacks: on Debian `apt-get install iproute2 util-linux` installs what is missing',
  );
});

it('what a machine lacks for a build is named, with where it comes from, before anything is made', async () => {
  using folder = tempFolder();
  const found = await bash(`type -P ${PLAIN.join(' ')}`);
  for (const [index, path] of found.stdout.trim().split('\n').entries()) symlinkSync(path, join(folder.path, String(PLAIN[index])));
  const env = { PATH: folder.path, HOLDFAST_CACHE: join(folder.path, 'cache') };
  const { code, stdout, stderr } = await runProcess(SETUP, ['--check'], { env });
  expect(stderr).toMatch(
    /^to build Kubernetes this machine lacks apt-get \(Debian, for its packages containerd [^)]*\), dpkg-deb \(.*\), flock \(.*\), go \(1\.\d+\.\d+ or later, https:.*\)\n$/,
  );
  expect([code, stdout]).toEqual([1, '']);
  expect(await runProcess('ls', [env.HOLDFAST_CACHE])).toMatchObject({ code: 2 });
});
