import type { Findings } from '../findings.ts';
import type { PickleValue } from '../pickle/value.ts';
import type { Directory } from '../source/directory.ts';
import { openMember } from '../source/open-member.ts';
import { isTorchLegacy } from '../torch/legacy.ts';
import { readScalar } from '../torch/scalar.ts';
import { isTorchZip } from '../torch/zip.ts';
import type { Probe } from './format.ts';
import { readTorchObject } from './torch-object.ts';
import type { ScalarReader } from './training-values.ts';

export interface TorchMember {
  /** What the file holds, as inert data; undefined when it could not be read. */
  readonly value: PickleValue | undefined;
  readonly readScalar: ScalarReader;
}

const UNREADABLE: TorchMember = { value: undefined, readScalar: () => null };

/** Reads a torch file of a checkpoint whose role is known from its name. What is wrong with it becomes evidence; content is the caller's to note. */
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
