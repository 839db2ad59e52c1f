/** A file of the archive that a kernel unpacks as its first root. */
export interface ArchivedFile {
  readonly path: string;
  /** With the kind of file: 0o100755 is a program. */
  readonly mode: number;
  readonly content: Uint8Array;
}

const [FOLDER, PROGRAM, TEXT] = [0o040755, 0o100755, 0o100644];
const TRAILER: ArchivedFile = { path: 'TRAILER!!!', mode: 0, content: new Uint8Array() };

interface Contents {
  readonly init: Uint8Array;
  readonly busybox: Uint8Array;
  /** In the order in which they are loaded. */
  readonly modules: readonly Uint8Array[];
  /** Lines of shell: variables that `init` reads. */
  readonly settings: string;
}

export function initramfs({ init, busybox, modules, settings }: Contents): Buffer {
  const folder = (path: string): ArchivedFile => ({ path, mode: FOLDER, content: new Uint8Array() });
  const loaded = modules.map((content, index) => ({ path: `modules/${String(index).padStart(3, '0')}.ko`, mode: TEXT, content }));
  return archive([
    folder('bin'),
    folder('modules'),
    { path: 'init', mode: PROGRAM, content: init },
    { path: 'bin/busybox', mode: PROGRAM, content: busybox },
    { path: 'below-settings', mode: TEXT, content: Buffer.from(settings) },
    ...loaded,
  ]);
}

/** The paths of these modules and of all that they need, each after what it needs. One that has no line is built into the kernel. */
export function loadOrder(dependencies: string, names: readonly string[]): readonly string[] {
  const needs = new Map<string, readonly string[]>();
  const paths = new Map<string, string>();
  for (const line of dependencies.split('\n')) {
    const [path, needed] = line.split(':');
    if (path === undefined || needed === undefined) continue;
    needs.set(path, needed.split(' ').filter(Boolean));
    paths.set(moduleName(path), path);
  }
  const order = new Set<string>();
  const underWay = new Set<string>();
  const visit = (path: string): void => {
    if (order.has(path) || underWay.has(path)) return;
    underWay.add(path);
    for (const needed of needs.get(path) ?? []) visit(needed);
    order.add(path);
  };
  for (const name of names) {
    const path = paths.get(name);
    if (path !== undefined) visit(path);
  }
  return [...order];
}

/** As the kernel calls it: `crc32c-intel.ko` is `crc32c_intel`. */
function moduleName(path: string): string {
  return path
    .replace(/^.*\//, '')
    .replace(/\.ko(\.\w+)?$/, '')
    .replaceAll('-', '_');
}

/** The format `newc` of cpio: all numbers in eight hexadecimal digits, names and contents filled up to four bytes. */
export function archive(files: readonly ArchivedFile[]): Buffer {
  return Buffer.concat(
    [...files, TRAILER].flatMap(({ path, mode, content }, index) => {
      const name = Buffer.from(`${path}\0`);
      const [inode, links, nothing] = [index + 1, 1, 0];
      const device = [nothing, nothing, nothing, nothing];
      const fields = [inode, mode, nothing, nothing, links, nothing, content.length, ...device, name.length, nothing];
      const header = Buffer.from(`070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`);
      return [filled(Buffer.concat([header, name])), filled(content)];
    }),
  );
}

function filled(bytes: Uint8Array): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}
