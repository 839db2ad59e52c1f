import { Fault, reportFaults } from '../reading/fault.ts';
import { Findings } from '../reading/findings.ts';
import { Image } from '../encodings/hdf5/file-image.ts';
import { findSuperblock, readSuperblock, type Superblock } from '../encodings/hdf5/superblock.ts';
import { readObjectHeader } from '../encodings/hdf5/object-header.ts';
import { walkObjects } from '../encodings/hdf5/walk.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import type { FileFormat } from '../reading/format.ts';

/**
 * Flags of the superblock: open for writing, by one writer, or by one writer with readers beside
 * it.
 */
const OPEN_FLAGS = 0x07;
/** What tools that pad files to whole pages add at most. */
const MAX_PADDING = 4096;
const HEAD_BYTES = 4096;

/**
 * HDF5, as h5py and Keras write it. Metadata of the newer versions carries checksums, which are
 * compared here; data carries them only where the writer asked for Fletcher-32.
 *
 * Whether a file was closed shows in three places. The end that the superblock records is beyond
 * the file: it was cut. The flag "open for writing" is set: the writer died; libraries since 1.10
 * set it in superblocks of every version, though readers heed it only in version 3, and a file that
 * was flushed before its writer was killed opens in them as if nothing were missing. The file goes
 * on behind the recorded end: also a sign of a writer that died, because the library cuts the file
 * when it closes it; a tensor of 512 bytes written after the last flush leaves exactly 512 bytes.
 * But where the flag is clear the file was closed, and what follows was appended by something else,
 * which the library ignores; so it is a warning. Only writers that never set the flag (before 1.10,
 * and those over MPI or Python file objects) leave doubt there, so a tail longer than any padding
 * counts as unclosed.
 */
export const hdf5: FileFormat = {
  id: 'hdf5',
  title: 'HDF5 file',
  extensions: ['.h5', '.hdf5', '.hdf', '.he5'],
  recognise: (head, source) => findSuperblock(head, source) !== null,
  inspect(source, findings) {
    reportFaults(source, findings, () => {
      const at = findSuperblock(source.read(0, HEAD_BYTES), source);
      if (at === null) throw new Fault('HDF5_STRUCTURE_INVALID', 'the file has no HDF5 signature', { offset: 0 });
      const superblock = readSuperblock(source, at);
      demandClosed(source, superblock);
      if (source.size > superblock.end) inspectWithTail(source, superblock, findings);
      else inspectObjects(source, superblock, findings);
    });
  },
};

function demandClosed({ size }: ByteSource, { end, flags, driver, base, version }: Superblock): void {
  if (size < end) {
    throw new Fault('HDF5_TRUNCATED', `the superblock says that the file ends at byte ${end}, it has ${size}`, {
      offset: size,
      expected: `${end} bytes`,
      found: `${size} bytes`,
    });
  }
  if ((flags & OPEN_FLAGS) !== 0) {
    throw new Fault(
      'HDF5_NOT_CLOSED',
      `the superblock still says that the file is open for writing (flags ${flags}): its writer never closed it`,
      {
        offset: base + (version < 2 ? 20 : 11),
        expected: '0',
        found: String(flags),
      },
    );
  }
  if (driver !== null)
    throw new Fault('HDF5_UNSUPPORTED', 'the file is one of several that a driver of HDF5 puts together', { offset: base });
}

/**
 * Bytes behind the recorded end: harmless when the file was closed before they came, the mark of a
 * dead writer otherwise.
 */
function inspectWithTail(source: ByteSource, superblock: Superblock, findings: Findings): void {
  const inside = new Findings();
  inspectObjects(source, superblock, inside);
  const { end, version } = superblock;
  const tail = source.size - end;
  const facts = { offset: end, expected: `${end} bytes`, found: `${source.size} bytes` };
  const mayBeUnclosed = version < 3 && (inside.isBroken || tail > MAX_PADDING);
  if (mayBeUnclosed) {
    throw new Fault(
      'HDF5_NOT_CLOSED',
      `the superblock says that the file ends at byte ${end}, and ${tail} more bytes follow that it does not count`,
      facts,
    );
  }
  findings.merge(inside);
  const where = { file: source.file, ...facts, offset: source.base + end };
  findings.add('HDF5_TRAILING', where, `the file was closed with ${end} bytes and has ${tail} more now, which readers ignore`);
}

function inspectObjects(source: ByteSource, superblock: Superblock, findings: Findings): void {
  const image = new Image(source, superblock);
  const { root, extension } = superblock;
  reportFaults(source, findings, () => {
    if (root === null) throw new Fault('HDF5_STRUCTURE_INVALID', 'the superblock leads to no root group', { offset: superblock.base });
    if (extension !== null && superblock.version >= 2) readObjectHeader(image, extension);
    const datasets = walkObjects(image, root, findings);
    if (datasets === 0 && !findings.isBroken) throw new Fault('HDF5_EMPTY', 'the file holds no dataset at all');
  });
  // Extents that overlap can make a small file cost endless reading, so their checksums are not
  // compared; nor are too many.
  const isSound = !image.budget.isExhausted && reportFaults(source, findings, () => image.extents.demandDisjoint());
  if (!isSound) findings.checks.length = 0;
}
