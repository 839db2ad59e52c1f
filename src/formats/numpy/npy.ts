import type { Findings } from '../reading/findings.ts';
import { type ArrayHeader, NPY_MAGIC, readHeader } from '../encodings/numpy/header.ts';
import { reportPickle } from '../encodings/pickle/report-walk.ts';
import { walkPickle } from '../encodings/pickle/walk.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import type { FileFormat } from '../reading/format.ts';

/** The reader of `.npy` files. */
export const npy: FileFormat = {
  id: 'npy',
  title: 'NumPy array',
  extensions: ['.npy'],
  recognise: (head) => head.subarray(0, NPY_MAGIC.length).equals(NPY_MAGIC),
  inspect(source, findings) {
    const header = readHeader((length) => source.read(0, length));
    if ('problem' in header) {
      const where = { file: source.file, offset: source.base };
      findings.add(header.isCut ? 'NUMPY_TRUNCATED' : 'NUMPY_HEADER_INVALID', where, `the array ${header.problem}`);
      return;
    }
    findings.content.add('weights', source.file);
    if (header.dataBytes === null) inspectObjects(source, header, findings);
    else inspectData(source, header.dataOffset + header.dataBytes, findings);
    findings.payloadBytes += Math.max(0, source.size - header.dataOffset);
  },
};

function inspectData(source: ByteSource, end: number, findings: Findings): void {
  const where = {
    file: source.file,
    offset: source.base + Math.min(end, source.size),
    expected: `${end} bytes`,
    found: `${source.size} bytes`,
  };
  if (source.size < end) findings.add('NUMPY_TRUNCATED', where, `the file has ${source.size} bytes, its array needs ${end}`);
  else if (source.size > end) findings.add('NUMPY_TRAILING', where, `${source.size - end} bytes follow the array`);
}

/** An array of objects is a pickle after the header. */
export function inspectObjects(source: ByteSource, header: ArrayHeader, findings: Findings): void {
  const pickle = walkPickle(source, { start: header.dataOffset });
  reportPickle(pickle, source, findings);
  findings.add(
    'NUMPY_PICKLED',
    { file: source.file, offset: source.base + header.dataOffset },
    'the array holds pickled objects, not numbers',
  );
  if (pickle.end !== null && pickle.end < source.size) {
    findings.add(
      'NUMPY_TRAILING',
      { file: source.file, offset: source.base + pickle.end },
      `${source.size - pickle.end} bytes follow the array`,
    );
  }
}
