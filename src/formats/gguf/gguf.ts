import { excerpt } from '../../core/printable.ts';
import { Fault, reportFaults } from '../reading/fault.ts';
import type { Findings } from '../reading/findings.ts';
import { type Header, readHeader, roundUp } from './header.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import type { FileFormat } from '../reading/format.ts';

const MAGIC = Buffer.from('GGUF', 'latin1');

/**
 * Weights for llama.cpp and its kin; it stores no checksum. The trainers of llama.cpp keep their
 * optimizer in it too.
 */
export const gguf: FileFormat = {
  id: 'gguf',
  title: 'GGUF model',
  extensions: ['.gguf'],
  recognise: (head) => head.length >= 4 && head.subarray(0, 4).equals(MAGIC),
  inspect(source, findings) {
    reportFaults(source, findings, () => {
      const header = readHeader(source);
      noteContent(header, source.file, findings);
      const end = checkTensors(header, source, findings);
      checkEnd(header, source, end, findings);
    });
  },
};

/**
 * Where the last tensor ends in the data. Tensors lie in the order they are described, each at the
 * next aligned offset; the loader of llama.cpp insists on it.
 */
function checkTensors(header: Header, source: ByteSource, findings: Findings): number {
  let end = 0;
  for (const { name, offset, bytes, describedAt } of header.tensors) {
    const expected = roundUp(end, header.alignment);
    if (offset !== expected) {
      throw new Fault(
        'GGUF_LAYOUT_INVALID',
        `tensor ${excerpt(name)} is said to lie at ${offset} of the data; the tensor before it ends so that it must lie at ${expected}`,
        {
          offset: describedAt,
          expected: String(expected),
          found: String(offset),
        },
      );
    }
    end = offset + bytes;
    if (!(header.dataStart + end <= source.size)) throw cut(source, header.dataStart + end, `tensor ${excerpt(name)} ends`);
    findings.payloadBytes += bytes;
  }
  return end;
}

/** Writers pad the last tensor or end right behind it; anything between is a file that was cut. */
function checkEnd({ dataStart, alignment, tensors }: Header, source: ByteSource, end: number, findings: Findings): void {
  if (tensors.length === 0) return;
  const bare = dataStart + end;
  const padded = dataStart + roundUp(end, alignment);
  if (source.size === bare || source.size === padded) return;
  if (source.size < padded) throw cut(source, padded, 'the padding of the last tensor ends');
  findings.add(
    'GGUF_TRAILING',
    { file: source.file, offset: source.base + padded, expected: `${padded} bytes`, found: `${source.size} bytes` },
    `the last tensor ends at ${padded} with its padding, the file has ${source.size - padded} bytes more`,
  );
}

function cut(source: ByteSource, needed: number, what: string): Fault {
  return new Fault('GGUF_TRUNCATED', `${what} at byte ${needed}, the file at ${source.size}`, {
    offset: source.size,
    expected: `at least ${needed} bytes`,
    found: `${source.size} bytes`,
  });
}

function noteContent({ tensors, integers }: Header, file: string, findings: Findings): void {
  for (const { name } of tensors) findings.content.add(name.startsWith('optimizer.') ? 'optimizer' : 'weights', file);
  const step = integers.get('training.iteration_count');
  if (step !== undefined) findings.content.addStep(step, file, `${file}: training.iteration_count`);
  const parts = integers.get('split.count');
  if (parts !== undefined && parts > 1) {
    const part = (integers.get('split.no') ?? 0) + 1;
    findings.add('GGUF_SPLIT', { file }, `this is part ${part} of a model in ${parts} files; the others are not judged with it`);
  }
}
