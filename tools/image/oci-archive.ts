import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, mkdtempSync, openSync, readSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PIECE_BYTES = 2 ** 20;
/** The same tree gives the same bytes: no times, no owners, no order of a disk. */
const SAME_EVERY_TIME = ['--sort=name', '--mtime=@0', '--numeric-owner', '--owner=0', '--group=0', '--format=ustar'];
/** Whatever the umask was. */
const PLAIN_MODES = '--mode=u=rwX,go=rX';

/** How a container of an image starts. */
export interface ImageConfig {
  readonly Entrypoint: readonly string[];
  readonly Env: readonly string[];
  readonly User?: string;
  readonly Labels?: Readonly<Record<string, string>>;
}

/** An image of one layer. */
export interface OciImage {
  /** The folder with the root file system. */
  readonly root: string;
  readonly config: ImageConfig;
  /** The notes of its entry in the index, such as its name. */
  readonly annotations: Readonly<Record<string, string>>;
  /** The archive to write. */
  readonly archive: string;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** Writes an image as an archive in the OCI layout; returns the digest of its manifest. */
export function writeOciArchive({ root, config, annotations, archive }: OciImage): string {
  const layout = mkdtempSync(`${archive}-`);
  try {
    const blobs = join(layout, 'blobs', 'sha256');
    mkdirSync(blobs, { recursive: true });
    const add = (mediaType: string, value: unknown): Descriptor => {
      const bytes = Buffer.from(JSON.stringify(value));
      const hash = createHash('sha256').update(bytes).digest('hex');
      writeFileSync(join(blobs, hash), bytes);
      return { mediaType, digest: `sha256:${hash}`, size: bytes.length };
    };
    const layer = addLayer(blobs, root);
    const settings = add('application/vnd.oci.image.config.v1+json', {
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config,
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
    });
    const manifestType = 'application/vnd.oci.image.manifest.v1+json';
    const manifest = add(manifestType, { schemaVersion: 2, mediaType: manifestType, config: settings, layers: [layer] });
    writeFileSync(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
    writeFileSync(join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] }));
    const unfinished = join(layout, 'archive');
    tar(unfinished, layout, ['blobs', 'index.json', 'oci-layout']);
    renameSync(unfinished, archive);
    return manifest.digest;
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}

/** A layer that is not compressed: registries take it, and its digest depends on no compressor. */
function addLayer(blobs: string, root: string): Descriptor {
  const contents = join(blobs, 'layer');
  tar(contents, root, ['.']);
  const hash = hashOf(contents);
  renameSync(contents, join(blobs, hash));
  const path = join(blobs, hash);
  return { mediaType: 'application/vnd.oci.image.layer.v1.tar', digest: `sha256:${hash}`, size: statSync(path).size };
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

function tar(archive: string, folder: string, names: readonly string[]): void {
  execFileSync('tar', ['--create', ...SAME_EVERY_TIME, PLAIN_MODES, '--file', archive, '--directory', folder, ...names]);
}
