import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { USER } from '../../src/operator/install/options.ts';
import { IMAGE_FILES } from '../../src/operator/supervision/names.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** Debian's packages with the libraries that the executable links. */
const PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6'];
const LIBRARIES = ['libc.so.6', 'libdl.so.2', 'libgcc_s.so.1', 'libm.so.6', 'libpthread.so.0', 'libresolv.so.2', 'libstdc++.so.6'];
const LOADER = 'ld-linux-x86-64.so.2';
const FOLDER = 'usr/lib/x86_64-linux-gnu';

/** Where the programs lie in the image. */
export const PROGRAMS_IN_IMAGE = {
  holdfast: '/usr/local/bin/holdfast',
  'holdfast-run': IMAGE_FILES.supervisor,
  'holdfast-launch': IMAGE_FILES.launcher,
};

/** The programs of the image, as files of this machine. */
export type ImagePrograms = Readonly<Record<keyof typeof PROGRAMS_IN_IMAGE, string>>;

const FILES: Readonly<Record<string, string>> = {
  'etc/passwd': `root:x:0:0:root:/:/sbin/nologin\nnonroot:x:${USER}:${USER}:nonroot:/:/sbin/nologin\n`,
  'etc/group': `root:x:0:\nnonroot:x:${USER}:\n`,
  'etc/nsswitch.conf': 'hosts: files dns\n',
};

/** Unpacks Debian's packages into the cache, and returns the folder. Nothing is installed. */
export function unpackPackages(...names: readonly string[]): string {
  const script = join(ROOT, 'test/support/setup-mount-tools.sh');
  const packages = names.length === 0 ? PACKAGES : names;
  return execFileSync(script, packages, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

/**
 * Fills a folder with the root file system of the operator’s image: glibc, the executables, and no
 * shell.
 */
export function fillOperatorRoot(
  folder: string,
  { packages, programs }: { readonly packages: string; readonly programs: ImagePrograms },
): void {
  const place = (from: string, to: string): void => {
    mkdirSync(dirname(join(folder, to)), { recursive: true });
    copyFileSync(from, join(folder, to));
  };
  for (const name of [LOADER, ...LIBRARIES]) place(libraryIn(packages, name), `${FOLDER}/${name}`);
  symlinkSync('usr/lib', join(folder, 'lib'));
  mkdirSync(join(folder, 'lib64'));
  symlinkSync(`../${FOLDER}/${LOADER}`, join(folder, 'lib64', LOADER));
  for (const name of PACKAGES) place(copyrightOf(packages, name), `usr/share/doc/${name}/copyright`);
  place(join(ROOT, 'LICENSE'), 'usr/share/doc/holdfast/LICENSE');
  place(join(dirname(dirname(realpathSync(process.execPath))), 'LICENSE'), 'usr/share/doc/node/LICENSE');
  for (const [name, path] of Object.entries(PROGRAMS_IN_IMAGE)) place(programs[name as keyof ImagePrograms], path.slice(1));
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** The terms of a package. Those of GCC's libraries lie in a package of its version. */
function copyrightOf(packages: string, name: string): string {
  const place = join(packages, 'usr/share/doc', name);
  if (!lstatSync(place).isSymbolicLink()) return join(place, 'copyright');
  const base = basename(readlinkSync(place));
  return join(unpackPackages(base), 'usr/share/doc', base, 'copyright');
}

/** The file of a library: Debian keeps some of them in `/lib`, and names most by a link. */
function libraryIn(packages: string, name: string): string {
  const found = [`lib/${basename(FOLDER)}`, FOLDER].map((folder) => join(packages, folder, name)).find((path) => existsSync(path));
  if (found === undefined)
    throw new Error(`Debian's packages ${PACKAGES.join(', ')} hold no ${name}: the image is made on Debian for x86-64`);
  return realpathSync(found);
}
