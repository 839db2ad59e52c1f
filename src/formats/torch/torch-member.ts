import type { Findings } from '../reading/findings.ts';
import type { PickleValue } from '../encodings/pickle/value.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { openMember } from '../reading/open-member.ts';
import { isTorchLegacy } from './legacy.ts';
import { readScalar } from './scalar.ts';
import { isTorchZip } from './zip.ts';
import type { Probe } from '../reading/format.ts';
import { readTorchObject } from './read-torch-object.ts';
import type { ScalarReader } from '../encodings/pickle/training-values.ts';

/** The value of a torch file, with a reader for its scalars. */
export interface TorchMember {
  /** The content of the file, as inert data; undefined when it is unreadable. */
  readonly value: PickleValue | undefined;
  readonly readScalar: ScalarReader;
}

const UNREADABLE: TorchMember = { value: undefined, readScalar: () => null };

/**
 * Reads a torch file of a checkpoint whose name gives its role. Problems become evidence; the
 * caller records the content.
 */
export function readObject(directory: Directory, name: string, findings: Findings, probe: Probe): TorchMember {
  const source = openMember(directory, name, findings);
  if (source === null) return UNREADABLE;
  const head = source.read(0, 4096);
  if (!isTorchLegacy(head) && !isTorchZip(head, source)) {
    findings.mergeWithoutContent(probe.inspectFile(directory, name, []).findings);
    return UNREADABLE;
  }
  const object = readTorchObject(source, findings);
  if (object === null) return UNREADABLE;
  return { value: object.value, readScalar: (tensor) => readScalar(object, tensor) };
}
