import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { OWN_CRC32C } from '../../src/core/own-crc32c.ts';
import type { ProgramName } from './bundle.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** The files of each program: the Python package, and the examples that the demo plays. */
const FILES: Readonly<Record<ProgramName, readonly string[]>> = {
  holdfast: ['python/holdfast/**/*.py', 'python/holdfast/py.typed', 'examples/stdlib/*.py'],
  'holdfast-run': ['python/holdfast/**/*.py', 'python/holdfast/py.typed'],
};
const FIRST_PROCESS = '\nexec 3<&0\n';

/** What lies in the executable beside its program, by name. */
export function collectAssets(name: ProgramName, program: string): ReadonlyMap<string, Buffer> {
  const files = globSync(FILES[name], { cwd: ROOT }).toSorted();
  const assets = new Map<string, Buffer>([
    ['program', Buffer.from(program)],
    ['version', Buffer.from(versionOf())],
    ['first-process.sh', Buffer.from(firstProcess())],
    ['native/crc32.node', readFileSync(nativeAddon())],
    ...ownCrc32c(),
    ...files.map((file) => [file, readFileSync(join(ROOT, file))] as const),
  ]);
  const hash = createHash('sha256');
  for (const [asset, bytes] of assets) hash.update(`${asset}\0${bytes.length}\0`).update(bytes);
  return assets.set('digest', Buffer.from(hash.digest('hex').slice(0, 16)));
}

function versionOf(): string {
  return (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;
}

/**
 * The part of the launcher that stays as a container's first process. Its arguments are the program
 * to start.
 */
function firstProcess(): string {
  const launcher = readFileSync(join(ROOT, 'bin/holdfast'), 'utf8');
  const start = launcher.indexOf(FIRST_PROCESS);
  if (start < 0) throw new Error('bin/holdfast has no part for the first process any more');
  return launcher.slice(start + 1);
}

/** Compiled here, if a compiler is available. */
function ownCrc32c(): readonly (readonly [string, Buffer])[] {
  execFileSync('sh', [join(ROOT, 'native/build.sh')], { stdio: ['ignore', 'ignore', 'inherit'] });
  const file = join(ROOT, OWN_CRC32C);
  return existsSync(file) ? [[OWN_CRC32C, readFileSync(file)]] : [];
}

function nativeAddon(): string {
  const require = createRequire(import.meta.url);
  return createRequire(require.resolve('@node-rs/crc32')).resolve(`@node-rs/crc32-linux-${process.arch}-gnu`);
}
