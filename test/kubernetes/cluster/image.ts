import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/**
 * The links at the root of a Debian with a merged `/usr`. With the machine's `/usr` mounted, its
 * programs run.
 */
const MERGED = ['bin', 'sbin', 'lib', 'lib64'];
const PIECE_BYTES = 2 ** 20;
const EMPTY = ['usr', 'tmp', 'etc', 'root', 'run', 'var', 'proc', 'sys', 'dev'];

/** Fills the folder of an image: busybox, and an empty folder for the machine's `/usr`. */
export function fillBaseImage(folder: string, busybox: string): void {
  for (const name of EMPTY) mkdirSync(join(folder, name), { recursive: true });
  for (const name of MERGED) symlinkSync(`usr/${name}`, join(folder, name));
  mkdirSync(join(folder, 'busybox'));
  copyFileSync(busybox, join(folder, 'busybox', 'busybox'));
  for (const name of ['sh', 'sleep', 'cat', 'dd', 'head', 'tar', 'test', 'touch', 'true', 'false'])
    symlinkSync('busybox', join(folder, 'busybox', name));
}

interface ImageOptions {
  readonly name: string;
  readonly folder: string;
  readonly entrypoint?: readonly string[];
  /** The archive to write. */
  readonly archive: string;
}

/**
 * Writes an image of one layer from a folder, as an archive in the OCI layout for `ctr images
 * import`.
 */
export function writeImage({ name, folder, entrypoint = [], archive }: ImageOptions): void {
  const layout = mkdtempSync(`${archive}-`);
  try {
    const blobs = join(layout, 'blobs', 'sha256');
    mkdirSync(blobs, { recursive: true });
    const add = (mediaType: string, bytes: Buffer): { mediaType: string; digest: string; size: number } => {
      const hash = createHash('sha256').update(bytes).digest('hex');
      writeFileSync(join(blobs, hash), bytes);
      return { mediaType, digest: `sha256:${hash}`, size: bytes.length };
    };
    const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
    const contents = join(layout, 'layer');
    tar(contents, folder);
    const hash = hashOf(contents);
    const layer = { mediaType: 'application/vnd.oci.image.layer.v1.tar', digest: `sha256:${hash}`, size: statSync(contents).size };
    renameSync(contents, join(blobs, hash));
    const config = add(
      'application/vnd.oci.image.config.v1+json',
      json({
        architecture: process.arch === 'x64' ? 'amd64' : process.arch,
        os: 'linux',
        config: { Entrypoint: entrypoint, Env: ['PATH=/busybox:/usr/bin:/bin'] },
        rootfs: { type: 'layers', diff_ids: [layer.digest] },
      }),
    );
    const manifestType = 'application/vnd.oci.image.manifest.v1+json';
    const manifest = add(manifestType, json({ schemaVersion: 2, mediaType: manifestType, config, layers: [layer] }));
    const annotations = { 'io.containerd.image.name': name };
    writeFileSync(join(layout, 'oci-layout'), json({ imageLayoutVersion: '1.0.0' }));
    writeFileSync(join(layout, 'index.json'), json({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] }));
    tar(archive, layout);
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}

/** Hashes a file that may be larger than memory. */
function hashOf(path: string): string {
  const [hash, piece, file] = [createHash('sha256'), Buffer.allocUnsafe(PIECE_BYTES), openSync(path, 'r')];
  try {
    for (let bytes = readSync(file, piece); bytes > 0; bytes = readSync(file, piece)) hash.update(piece.subarray(0, bytes));
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
}

function tar(archive: string, folder: string): void {
  execFileSync('tar', ['--create', '--numeric-owner', '--owner=0', '--group=0', '--file', archive, '--directory', folder, '.']);
}
