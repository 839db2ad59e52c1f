/** One line of the kernel's mount table (`/proc/self/mountinfo`). */
export interface Mount {
  readonly id: number;
  /** `major:minor` of the device that holds the files. */
  readonly device: string;
  /**
   * The mounted folder of its file system: `/`, or deeper for a bind mount, such as a volume of a
   * pod on the node's disk.
   */
  readonly root: string;
  readonly mountPoint: string;
  /** Options of this mount: `ro`, `noatime`, … */
  readonly options: readonly string[];
  /** The kernel's name: `ext4`, `nfs4`, `fuse.s3fs`. */
  readonly type: string;
  /** The mounted source: a device, a server's path, a bucket. */
  readonly source: string;
  /** Options of the file system itself. */
  readonly superOptions: readonly string[];
}

/** Reads the mount table, and skips lines of any other form. */
export function parseMountTable(text: string): Mount[] {
  return text.split('\n').flatMap((line) => {
    const mount = parseLine(line);
    return mount === null ? [] : [mount];
  });
}

function parseLine(line: string): Mount | null {
  const fields = line.split(' ');
  // Any number of optional fields lies between the sixth field and the dash.
  const dash = fields.indexOf('-', 6);
  const [id, , device, root, mountPoint, options] = fields;
  const [type, source, superOptions] = dash < 0 ? [] : fields.slice(dash + 1);
  if (!/^\d+$/.test(id ?? '') || device === undefined || root === undefined || mountPoint === undefined || type === undefined) return null;
  return {
    id: Number(id),
    device,
    root: unescaped(root),
    mountPoint: unescaped(mountPoint),
    options: (options ?? '').split(','),
    type,
    source: unescaped(source ?? ''),
    superOptions: (superOptions ?? '').split(',').map(unescaped),
  };
}

/** Spaces, tabs, newlines and backslashes are written as three octal digits. */
function unescaped(field: string): string {
  return field.replaceAll(/\\([0-3][0-7]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/**
 * The mount of an absolute path without links: the deepest one above it. Of several on one spot the
 * last one counts, because it hides the others.
 */
export function mountOfPath(path: string, mounts: readonly Mount[]): Mount | null {
  let found: Mount | null = null;
  for (const mount of mounts) {
    if (isBelow(path, mount.mountPoint) && (found === null || mount.mountPoint.length >= found.mountPoint.length)) found = mount;
  }
  return found;
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}
