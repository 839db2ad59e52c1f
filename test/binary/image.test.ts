import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorImage } from '../../tools/image/operator-image.ts';
import { fillOperatorRoot, PROGRAMS_IN_IMAGE, unpackPackages } from '../../tools/image/operator-root.ts';
import { writeOciArchive } from '../../tools/image/oci-archive.ts';
import { tempFolder } from '../support/temp-folder.ts';

interface Descriptor {
  readonly digest: string;
  readonly size: number;
}
interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

const why = process.arch === 'x64' ? null : 'the image is made for x86-64';
const folder = tempFolder();

/** Makes an image whose programs are the runtime itself: they link what the executables link. */
function makeImage(name: string): { readonly root: string; readonly archive: string; readonly digest: string } {
  const [root, archive] = [join(folder.path, name), join(folder.path, `${name}.tar`)];
  mkdirSync(root);
  const node = process.execPath;
  fillOperatorRoot(root, { packages: unpackPackages(), programs: { holdfast: node, 'holdfast-run': node, 'holdfast-launch': '/bin/sh' } });
  return { root, archive, digest: writeOciArchive({ root, archive, ...operatorImage('1.2.3') }) };
}

const hashOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

describe.skipIf(why !== null)(`the operator's image${why === null ? '' : ` (skipped: ${why})`}`, () => {
  let image: ReturnType<typeof makeImage>;
  const layout = join(folder.path, 'layout');
  const blob = (digest: string): string => join(layout, 'blobs', digest.replace(':', '/'));
  const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
  const manifest = (): Manifest => read(blob(image.digest)) as Manifest;

  beforeAll(() => {
    image = makeImage('first');
    mkdirSync(layout);
    execFileSync('tar', ['--extract', '--file', image.archive, '--directory', layout]);
  });
  afterAll(() => folder[Symbol.dispose]());

  it('is an OCI layout in which every blob has its digest and its size', () => {
    expect(read(join(layout, 'oci-layout'))).toEqual({ imageLayoutVersion: '1.0.0' });
    const { manifests } = read(join(layout, 'index.json')) as { readonly manifests: readonly Descriptor[] };
    expect(manifests.map(({ digest }) => digest)).toEqual([image.digest]);
    const { config, layers } = manifest();
    for (const { digest, size } of [...manifests, config, ...layers]) {
      expect(`sha256:${hashOf(blob(digest))}`).toBe(digest);
      expect(statSync(blob(digest)).size).toBe(size);
    }
    expect(readdirSync(join(layout, 'blobs/sha256'))).toHaveLength(3);
  });

  it('starts holdfast as user 65532', () => {
    const { config, layers } = manifest();
    expect(read(blob(config.digest))).toMatchObject({
      architecture: 'amd64',
      os: 'linux',
      config: { User: '65532:65532', Entrypoint: ['/usr/local/bin/holdfast'], Labels: { 'org.opencontainers.image.version': '1.2.3' } },
      // The layer is not compressed, so that its content has the same digest.
      rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
    });
  });

  it('belongs to root, and its user can execute the programs and change nothing', () => {
    const [layer] = manifest().layers;
    const lines = execFileSync('tar', ['--list', '--verbose', '--numeric-owner', '--utc', '--file', blob(layer?.digest ?? '')], {
      encoding: 'utf8',
    })
      .trimEnd()
      .split('\n');
    for (const line of lines) expect(line).toMatch(/^(?:drwxr-xr-x|-rwxr-xr-x|-rw-r--r--|l\S{9}) 0\/0 /);
    for (const path of Object.values(PROGRAMS_IN_IMAGE)) {
      expect(lines.find((line) => line.endsWith(` .${path}`))).toMatch(/^-rwxr-xr-x 0\/0 .* 1970-01-01 00:00 /);
    }
  });

  it('is the same when it is made again, byte for byte', () => {
    expect(hashOf(makeImage('second').archive)).toBe(hashOf(image.archive));
  });

  it.skipIf(process.getuid?.() !== 0)('holds every library that the executable needs', () => {
    const args = ['--userspec=65532:65532', image.root, PROGRAMS_IN_IMAGE.holdfast, '--version'];
    expect(execFileSync('chroot', args, { encoding: 'utf8', env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } }).trim()).toBe(process.version);
  });
});
