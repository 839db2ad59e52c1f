import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inject } from 'postject';
import { collectAssets } from './assets.ts';
import { bundleProgram } from './bundle.ts';

/** What Node.js looks for to know that it carries a program. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
/** As bin/holdfast has it, and why. */
const RUNTIME_OPTIONS = ['--max-semi-space-size=4'];

/** Puts the program, its files and the runtime this runs on into one executable. */
export async function buildExecutable(out: string): Promise<{ readonly bytes: number; readonly arch: string }> {
  if (process.platform !== 'linux') throw new Error(`the executable is made on Linux with glibc, not on ${process.platform}`);
  mkdirSync(dirname(out), { recursive: true });
  const work = mkdtempSync(join(dirname(out), '.binary-'));
  try {
    const unfinished = join(work, 'holdfast');
    const blob = makeBlob(work, collectAssets(await bundleProgram()));
    copyFileSync(process.execPath, unfinished);
    chmodSync(unfinished, 0o755);
    await inject(unfinished, 'NODE_SEA_BLOB', blob, { sentinelFuse: FUSE });
    // A file that was written by one call lies in the page cache in pieces so large that a process has 20 MB more of it mapped.
    const copy = join(work, 'copy');
    copyFileSync(unfinished, copy);
    renameSync(copy, out);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return { bytes: statSync(out).size, arch: process.arch };
}

function makeBlob(work: string, assets: ReadonlyMap<string, Buffer>): Buffer {
  const named = [...assets].map(([name, bytes], index) => {
    const file = join(work, String(index));
    writeFileSync(file, bytes);
    return [name, file] as const;
  });
  const main = join(work, 'main.cjs');
  writeFileSync(main, assets.get('program') ?? '');
  const output = join(work, 'blob');
  const config = join(work, 'config.json');
  writeFileSync(
    config,
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
  execFileSync(process.execPath, [...RUNTIME_OPTIONS, '--experimental-sea-config', config], { stdio: ['ignore', 'ignore', 'inherit'] });
  return readFileSync(output);
}
