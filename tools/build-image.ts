import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../src/cli/frame/version.ts';
import { buildExecutable } from './binary/executable.ts';
import { operatorImage } from './image/operator-image.ts';
import { fillOperatorRoot, unpackPackages } from './image/operator-root.ts';
import { writeOciArchive } from './image/oci-archive.ts';

/**
 * Makes `dist/holdfast-image.tar`: the image of the operator, as an archive in the OCI layout. It
 * needs neither Docker nor root.
 */
const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');
mkdirSync(dist, { recursive: true });
const work = mkdtempSync(join(dist, '.image-'));
try {
  const [native, folder] = [join(work, 'native'), join(work, 'root')];
  for (const each of [native, folder]) mkdirSync(each);
  execFileSync('sh', [join(root, 'native', 'build.sh'), native], { stdio: 'inherit' });
  const launcher = join(native, 'holdfast-launch-linux-x64');
  if (existsSync(launcher)) await build(folder, launcher);
  else {
    console.error('no image was made: it needs Linux on x86-64 and a C compiler (on Debian: apt-get install gcc libc6-dev)');
    process.exitCode = 1;
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}

async function build(folder: string, launcher: string): Promise<void> {
  const programs = { holdfast: join(dist, 'holdfast'), 'holdfast-run': join(dist, 'holdfast-run'), 'holdfast-launch': launcher };
  await buildExecutable(programs.holdfast);
  await buildExecutable(programs['holdfast-run'], 'holdfast-run');
  fillOperatorRoot(folder, { packages: unpackPackages(), programs });
  const archive = join(dist, 'holdfast-image.tar');
  const digest = writeOciArchive({ root: folder, archive, ...operatorImage(version()) });
  console.log(`${archive}  linux-x64, ${(statSync(archive).size / 2 ** 20).toFixed(0)} MiB, ${digest}`);
}
