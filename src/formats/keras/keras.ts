import { Findings } from '../reading/findings.ts';
import { isObject, parseJson } from '../../core/json.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import type { ZipArchive, ZipEntry } from '../encodings/zip/archive.ts';
import { directoryNames } from '../encodings/zip/entry-names.ts';
import { checkOfEntry, firstEntryName, openEntry, readZip } from '../encodings/zip/read-archive.ts';
import type { FileFormat, Probe } from '../reading/format.ts';

const CONFIG = 'config.json';
const METADATA = 'metadata.json';
const WEIGHTS: Readonly<Record<string, string>> = { 'model.weights.h5': 'hdf5', 'model.weights.npz': 'npz' };
/**
 * Compressed weights up to this are unpacked to be looked into. Keras itself stores them
 * uncompressed.
 */
const UNPACKED_BYTES = 48 * 1024 * 1024;

/** The reader of `.keras` archives. */
export const keras: FileFormat = {
  id: 'keras',
  title: 'Keras model',
  extensions: ['.keras'],
  recognise(head, source) {
    const first = firstEntryName(head);
    if (first === null) return false;
    // Both names in this order are how Keras begins; the second header follows within the first
    // bytes.
    if (first === METADATA && head.includes(CONFIG)) return true;
    const names = directoryNames(source);
    return names.some((name) => Object.hasOwn(WEIGHTS, name)) || (names.includes(CONFIG) && names.includes(METADATA));
  },
  inspect(source, findings, probe) {
    const archive = readZip(source, findings);
    if (archive === null) return;
    inspectDocument(source, archive, METADATA, findings);
    const config = inspectDocument(source, archive, CONFIG, findings);
    if (config?.includes('"__lambda__"') === true) {
      findings.add('KERAS_LAMBDA', { file: source.file }, 'the configuration of the model contains compiled Python code (a Lambda layer)');
    }
    const weights = archive.entries.find(({ name }) => Object.hasOwn(WEIGHTS, name));
    if (weights === undefined) reportMissing(source, Object.keys(WEIGHTS).join(' or '), findings);
    const payload = weights === undefined ? 0 : inspectWeights({ source, findings, probe }, weights);
    for (const entry of archive.entries) {
      const check = checkOfEntry(source, entry, entry === weights ? payload : 0);
      if (check !== null) findings.addCheck(check);
    }
    findings.payloadBytes += payload;
  },
};

function reportMissing(source: ByteSource, name: string, findings: Findings): void {
  const code = name === METADATA ? 'KERAS_METADATA_MISSING' : 'KERAS_MEMBER_MISSING';
  findings.add(code, { file: source.file, expected: name }, `the archive has no ${name}`);
}

/** The text of a JSON member, null when it is not there or cannot be parsed. */
function inspectDocument(source: ByteSource, archive: ZipArchive, name: string, findings: Findings): string | null {
  const entry = archive.byName.get(name);
  if (entry === undefined) {
    reportMissing(source, name, findings);
    return null;
  }
  const content = openEntry(source, entry, findings);
  if (content === null) return null;
  const text = content.read(0, content.size).toString('utf8');
  const parsed = parseJson(text);
  const where = { file: source.file, offset: content.base };
  if (parsed.ok && isObject(parsed.value)) return text;
  if (parsed.ok) findings.add('DOCUMENT_INVALID', where, `the member ${name} is not a JSON object`);
  else findings.add(parsed.limit ? 'LIMIT_EXCEEDED' : 'DOCUMENT_INVALID', where, `the member ${name} does not parse: ${parsed.reason}`);
  return null;
}

interface Place {
  readonly source: ByteSource;
  readonly findings: Findings;
  readonly probe: Probe;
}

/**
 * Looks into the weights with the reader of their own format; gives back how many bytes of tensors
 * the member's checksum vouches for.
 */
function inspectWeights({ source, findings, probe }: Place, entry: ZipEntry): number {
  const content = openEntry(source, entry, findings, UNPACKED_BYTES);
  if (content === null) {
    if (entry.dataOffset === null || findings.isBroken) return entry.size;
    findings.add('KERAS_NOT_INSPECTED', { file: source.file }, `${entry.name} unpacks to ${entry.size} bytes and was not inspected`);
    findings.content.add('weights', `${source.file}: ${entry.name}`);
    return entry.size;
  }
  const inner = probe.inspectSource(content, [WEIGHTS[entry.name] ?? '']).findings;
  const taken = new Findings();
  taken.merge(inner);
  // The archive's checksum covers every byte of the member, so what it stores itself need not be
  // compared as well.
  taken.checks.length = 0;
  const payload = inner.payloadBytes > 0 ? inner.payloadBytes : entry.size;
  taken.payloadBytes = 0;
  findings.merge(taken);
  return payload;
}
