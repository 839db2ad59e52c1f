import { writeFileSync } from 'node:fs';
import { writeZip, type ZipMember } from '../zip-writer.ts';

/** A file of `torch.save` around a pickle. */
export function torchFile(pickle: Buffer, records: readonly ZipMember[] = [], member: Partial<ZipMember> = {}): Buffer {
  return writeZip([
    { name: 'archive/data.pkl', data: pickle, ...member },
    { name: 'archive/byteorder', data: Buffer.from('little') },
    ...records,
    { name: 'archive/version', data: Buffer.from('3\n') },
  ]);
}

export function writeTorch(path: string, pickle: Buffer, records: readonly ZipMember[] = []): void {
  writeFileSync(path, torchFile(pickle, records));
}
