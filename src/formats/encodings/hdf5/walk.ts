import { needOfKey } from '../../reading/content-names.ts';
import { Fault, reportFaults } from '../../reading/fault.ts';
import type { Findings } from '../../reading/findings.ts';
import { LIMITS } from '../../../core/hostile-limits.ts';
import { readAttribute } from './attribute.ts';
import { needOfPath } from './need-of-path.ts';
import { checkStorage, type Dataset, isDataset, readDataset } from './dataset.ts';
import { elementCount } from './dataspace.ts';
import { integerValue } from './datatype.ts';
import { walkDense } from './dense.ts';
import { Fields } from './field-widths.ts';
import type { Image } from './file-image.ts';
import { isGroup, walkLinks } from './links.ts';
import { MESSAGE, type Message, readObjectHeader } from './object-header.ts';

/**
 * The longest path kept; longer ones are cut. Names serve people, and separate weights from
 * optimizer state.
 */
const MAX_PATH = 400;
const ATTRIBUTE_NAME_INDEX = 8;
const WAITING_MEMBER = 3;

interface Pending {
  readonly address: number;
  readonly path: string;
  readonly depth: number;
}

/**
 * Walks all objects from the root group, inspects each dataset, and returns the number of datasets.
 */
export function walkObjects(image: Image, root: number, findings: Findings): number {
  const { source } = image;
  const pending: Pending[] = [{ address: root, path: '', depth: 0 }];
  const seen = new Set<number>();
  let datasets = 0;
  for (let next = pending.pop(); next !== undefined && !image.budget.isExhausted; next = pending.pop()) {
    const object = next;
    if (seen.has(object.address)) continue;
    seen.add(object.address);
    reportFaults(source, findings, () => {
      image.budget.spend('entries');
      const messages = readObjectHeader(image, object.address);
      if (isDataset(messages)) {
        datasets++;
        inspectDataset(image, object.path, messages, findings);
      } else if (isGroup(messages)) pushMembers(image, object, messages, { pending, findings });
      if (object.depth === 0) noteAttributes(image, messages, findings);
    });
  }
  return datasets;
}

interface Walk {
  readonly pending: Pending[];
  readonly findings: Findings;
}

function pushMembers(image: Image, { path, depth }: Pending, messages: readonly Message[], { pending, findings }: Walk): void {
  if (depth >= LIMITS.depth) throw new Fault('LIMIT_EXCEEDED', `groups nest deeper than ${LIMITS.depth}`);
  const first = pending.length;
  walkLinks(image, messages, ({ name, target }) => {
    const member = (path === '' ? name : `${path}/${name}`).slice(0, MAX_PATH);
    image.budget.spend('bytes of names', member.length);
    // A pending member takes more memory than other entries.
    image.budget.spend('entries', WAITING_MEMBER);
    if (typeof target === 'number') pending.push({ address: target, path: member, depth: depth + 1 });
    else if (target === 'external') {
      findings.add('HDF5_ELSEWHERE', { file: image.source.file }, 'a link leads to another file, which is not judged with this one');
    }
  });
  reverseFrom(pending, first);
}

/** Reverses the new members, so that the walk visits the first one first. */
function reverseFrom(list: Pending[], first: number): void {
  for (let low = first, high = list.length - 1; low < high; low++, high--) {
    const swapped = list[low] as Pending;
    list[low] = list[high] as Pending;
    list[high] = swapped;
  }
}

function inspectDataset(image: Image, path: string, messages: readonly Message[], findings: Findings): void {
  const dataset = readDataset(image, messages);
  const { file } = image.source;
  const need = needOfPath(path);
  checkStorage(image, dataset, path, findings);
  if (need !== 'step') {
    if (dataset.bytes > 0) findings.content.add(need, file);
    return;
  }
  const step = readCounter(image, dataset);
  if (step !== null) findings.content.addStep(step, file, `${file}: ${path}`);
}

/** Returns the value of a dataset that is a single integer, stored without filters. */
function readCounter(image: Image, { shape, type, layout }: Dataset): number | null {
  if (elementCount(shape) !== 1 || type.integer === null) return null;
  if (layout.kind === 'compact') return integerValue(type, image.source.read(layout.at, type.size));
  if (layout.kind !== 'contiguous' || layout.address === null) return null;
  return integerValue(type, image.read(layout.address, type.size, 'a counter'));
}

/** Reads the attributes of the root group, where hand-written trainers keep their step. */
function noteAttributes(image: Image, messages: readonly Message[], findings: Findings): void {
  const { file } = image.source;
  const note = (data: Buffer, at: number): void => {
    const { name, integer } = readAttribute(image, { data, at });
    if (integer !== null && needOfKey(name) === 'step') findings.content.addStep(integer, file, `${file}: attribute ${name}`);
  };
  for (const { type, isShared, data, at } of messages) {
    if (type === MESSAGE.attribute && !isShared) note(data, at);
    if (type === MESSAGE.attributeInfo) walkDenseAttributes(image, data, at, note);
  }
}

function walkDenseAttributes(image: Image, data: Buffer, at: number, note: (data: Buffer, at: number) => void): void {
  const fields = new Fields(data, image.widths, 'the index of attributes', at);
  fields.version(0);
  if (fields.u8() & 1) fields.skip(2);
  const heap = fields.address();
  const index = fields.address();
  if (heap === null || index === null) return;
  walkDense(image, { heap, index, kind: ATTRIBUTE_NAME_INDEX, idAt: 0 }, note);
}
