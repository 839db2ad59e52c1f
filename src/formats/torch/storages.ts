import { excerpt } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import type { PickleResult } from '../encodings/pickle/walk.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import { storageOf, type TorchStorage } from './tensor-storage.ts';

/** Returns every storage the pickle refers to, by key. Invalid references become evidence. */
export function collectStorages(pickle: PickleResult, source: ByteSource, findings: Findings): Map<string, TorchStorage> {
  const storages = new Map<string, TorchStorage>();
  for (const reference of pickle.persistent) {
    const storage = storageOf(reference);
    const where = { file: source.file, offset: source.base + reference.offset };
    if (storage === 'class') continue;
    if ('problem' in storage) {
      findings.add('TORCH_STORAGE_UNKNOWN', where, `a reference to tensor data ${excerpt(storage.problem, 160)}`);
      continue;
    }
    const known = storages.get(storage.key);
    if (known === undefined) storages.set(storage.key, storage);
    else if (known.bytes !== storage.bytes) {
      const message = `storage ${excerpt(storage.key)} has ${known.bytes} bytes in one place of the pickle and ${storage.bytes} in another`;
      findings.add('TORCH_STORAGE_SIZE', { ...where, expected: `${known.bytes} bytes`, found: `${storage.bytes} bytes` }, message);
    }
  }
  return storages;
}
