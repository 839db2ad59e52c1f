import { copyFileSync, existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { PROGRAMS, type ProgramName } from './binary/bundle.ts';
import { buildExecutable } from './binary/executable.ts';

/** The output of `native/build.sh`. */
const LAUNCHER = join(import.meta.dirname, '..', 'native', 'holdfast-launch-linux-x64');

/**
 * Makes `dist/holdfast`, or the file that is named: one executable with the runtime, the program
 * and the Python package inside. A file named `holdfast-run` gets what `run` needs alone, and
 * `holdfast-launch` beside it, which starts it in the pods of a job. See
 * docs/adr/0027-single-executable.md.
 */
const out = resolve(process.argv[2] ?? join(import.meta.dirname, '..', 'dist', 'holdfast'));
const program = (Object.keys(PROGRAMS) as ProgramName[]).find((name) => name === basename(out)) ?? 'holdfast';
const { bytes, arch } = await buildExecutable(out, program);
console.log(`${out}  linux-${arch}, ${(bytes / 2 ** 20).toFixed(0)} MiB`);
if (program === 'holdfast-run') placeLauncher(join(dirname(out), 'holdfast-launch'));

function placeLauncher(path: string): void {
  if (!existsSync(LAUNCHER)) {
    console.error(
      `${path} was not made: native/launch.c needs Linux on x86-64 and a C compiler (on Debian: apt-get install gcc libc6-dev)`,
    );
    return;
  }
  copyFileSync(LAUNCHER, path);
  console.log(`${path}  linux-x64`);
}
