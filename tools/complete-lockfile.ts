import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Adds the platform packages of our tools that are missing from `package-lock.json`.
 *
 * A registry mirror that holds the packages of one platform only makes `npm install` leave the
 * others out of the lockfile, and `npm ci` then refuses it as incomplete, on every platform. Their
 * versions are pinned by the package that wants them, and their platforms are in their names, so
 * the entries can be written without the registry; they carry no integrity hash. Run it after every
 * `npm install`.
 */
interface LockedPackage {
  version?: string;
  cpu?: string[];
  dev?: boolean;
  libc?: string[];
  optional?: boolean;
  os?: string[];
  optionalDependencies?: Record<string, string>;
}

interface Lockfile {
  packages: Record<string, LockedPackage>;
}

const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const PROCESSORS = ['arm64', 'arm', 'ia32', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64'];

export function completeLockfile(lockfile: Lockfile): string[] {
  const { packages } = lockfile;
  const added: string[] = [];
  for (const parent of Object.values(packages)) {
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      const key = `node_modules/${name}`;
      if (packages[key] !== undefined) continue;
      packages[key] = { version, ...platformOf(name), ...(parent.dev === true ? { dev: true } : {}), optional: true };
      added.push(name);
    }
  }
  lockfile.packages = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en')));
  return added;
}

/** The platform in the name of a package: `@oxlint/binding-linux-arm-musleabihf`. */
function platformOf(name: string): Pick<LockedPackage, 'cpu' | 'libc' | 'os'> {
  const words = name.split(/[-/]/);
  const os = SYSTEMS.find((system) => words.includes(system));
  const cpu = PROCESSORS.find((processor) => words.includes(processor));
  const libc = words.some((word) => word.startsWith('musl')) ? 'musl' : words.some((word) => word.startsWith('gnu')) ? 'glibc' : undefined;
  return {
    ...(cpu === undefined ? {} : { cpu: [cpu] }),
    ...(libc === undefined ? {} : { libc: [libc] }),
    ...(os === undefined ? {} : { os: [os] }),
  };
}

if (import.meta.main) {
  const path = join(import.meta.dirname, '..', 'package-lock.json');
  const lockfile = JSON.parse(readFileSync(path, 'utf8')) as Lockfile;
  const added = completeLockfile(lockfile);
  writeFileSync(path, `${JSON.stringify(lockfile, null, 2)}\n`);
  console.log(`added ${added.length} platform packages`);
}
