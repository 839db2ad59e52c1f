import type { ByteSource } from '../../bytes/source/byte-source.ts';

const BLOCK = 512;
const MEMBERS = new Set(['sys_info', 'pickle', 'tensors', 'storages']);
/** Such an archive has four members. */
const MEMBERS_READ = 6;

/** Returns true for a tar archive with the members that PyTorch wrote in 2016. */
export function isTorchTar(head: Buffer, source: ByteSource): boolean {
  if (!isTarHeader(head)) return false;
  let position = 0;
  const seen = new Set<string>();
  for (let i = 0; i < MEMBERS_READ; i++) {
    const header = source.read(position, BLOCK);
    if (!isTarHeader(header)) break;
    const name = header.toString('latin1', 0, Math.max(0, header.indexOf(0))).replace(/^\.\//, '');
    if (MEMBERS.has(name)) seen.add(name);
    const size = Number.parseInt(header.toString('latin1', 124, 136), 8);
    if (!(size >= 0)) break;
    position += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return seen.has('pickle') || seen.has('storages');
}

function isTarHeader(header: Buffer): boolean {
  return header.length >= BLOCK && header.toString('latin1', 257, 262) === 'ustar';
}
