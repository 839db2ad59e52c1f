import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inject } from 'postject';
import { collectAssets } from './assets.ts';
import { bundleProgram, type ProgramName } from './bundle.ts';

/** Node.js looks for this text to know that the executable carries a program. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
/** The options of bin/holdfast, with the reasons there. */
const RUNTIME_OPTIONS = ['--max-semi-space-size=4'];

/**
 * The compiled code holds the hashes of its texts, and V8 chooses how to hash by chance. With this
 * two builds are equal, byte for byte; a runtime without it takes the code all the same.
 */
const SAME_EVERY_TIME = '--random-seed=1';

/** Puts a program, its files and the runtime this runs on into one executable. */
export async function buildExecutable(
  out: string,
  name: ProgramName = 'holdfast',
): Promise<{ readonly bytes: number; readonly arch: string }> {
  if (process.platform !== 'linux') throw new Error(`the executable is made on Linux with glibc, not on ${process.platform}`);
  mkdirSync(dirname(out), { recursive: true });
  const work = mkdtempSync(join(dirname(out), '.binary-'));
  try {
    const unfinished = join(work, 'holdfast');
    const { code } = await bundleProgram(name);
    const blob = makeBlob(work, collectAssets(name, code));
    copyFileSync(process.execPath, unfinished);
    chmodSync(unfinished, 0o755);
    await inject(unfinished, 'NODE_SEA_BLOB', blob, { sentinelFuse: FUSE });
    // The page cache keeps a file that one call wrote in such large pieces that each process maps
    // 20 MB more of it.
    const copy = join(work, 'copy');
    copyFileSync(unfinished, copy);
    renameSync(copy, out);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return { bytes: statSync(out).size, arch: process.arch };
}

function makeBlob(work: string, assets: ReadonlyMap<string, Buffer>): Buffer {
  // Names without their folder, which has another name every time.
  const named = [...assets].map(([name, bytes], index) => {
    writeFileSync(join(work, String(index)), bytes);
    return [name, String(index)] as const;
  });
  const [main, output, config] = ['main.cjs', 'blob', 'config.json'];
  writeFileSync(join(work, main), assets.get('program') ?? '');
  writeFileSync(
    join(work, config),
    JSON.stringify({
      main,
      output,
      disableExperimentalSEAWarning: true,
      useCodeCache: true,
      execArgv: RUNTIME_OPTIONS,
      assets: Object.fromEntries(named),
    }),
  );
  // The cache of compiled code is taken only by a runtime with the same options.
  execFileSync(process.execPath, [...RUNTIME_OPTIONS, SAME_EVERY_TIME, '--experimental-sea-config', config], {
    cwd: work,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return readFileSync(join(work, output));
}
