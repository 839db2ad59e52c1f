import { excerpt, printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { readDocument } from '../reading/document.ts';
import { isObject, type JsonObject } from '../../core/json.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { openMember } from '../reading/open-member.ts';

const INTEGRITY = 'integrity.json';

/** Tensor bytes of each file, by its path below the root. */
export type PayloadByFile = ReadonlyMap<string, number>;

/**
 * Lists the SHA-256 of every file that `integrity.json` names. It drops the checksums of parts of
 * such a file, so that `--deep` reads every byte once.
 */
export function inspectIntegrity(directory: Directory, findings: Findings, payload: PayloadByFile): void {
  if (!directory.has(INTEGRITY)) return;
  const document = readDocument(directory, INTEGRITY, findings);
  if (document === null) return;
  const file = directory.pathOf(INTEGRITY);
  const algorithm = document['algorithm'] ?? 'sha256';
  const files = document['files'];
  if (algorithm !== 'sha256') {
    const found = excerpt(JSON.stringify(algorithm));
    findings.add('MEGATRON_INTEGRITY_ALGORITHM', { file, expected: 'sha256', found }, `${printable(file)} uses the algorithm ${found}`);
  } else if (!isObject(files)) {
    findings.add('DOCUMENT_INVALID', { file, expected: 'files' }, `${printable(file)} lists no files`);
  } else {
    const covered = listFiles(directory, files, findings, payload);
    dropParts(findings, covered);
    reportUnlisted(directory, files, findings);
  }
}

function listFiles(directory: Directory, files: JsonObject, findings: Findings, payload: PayloadByFile): ReadonlySet<string> {
  const covered = new Set<string>();
  for (const name of Object.keys(files)) {
    const digest = files[name];
    if (/[/\\]|^\.{0,2}$/.test(name) || typeof digest !== 'string' || !/^[0-9a-f]{64}$/i.test(digest)) {
      const where = { file: directory.pathOf(INTEGRITY), found: excerpt(name) };
      findings.add('DOCUMENT_INVALID', where, `the entry ${excerpt(name)} of ${INTEGRITY} is no file name with a SHA-256`);
      continue;
    }
    const source = openMember(directory, name, findings);
    if (source === null) continue;
    covered.add(source.file);
    findings.addCheck({
      algorithm: 'sha256',
      file: source.file,
      offset: 0,
      length: source.size,
      encoding: 'stored',
      decodedLength: source.size,
      expected: digest.toLowerCase(),
      what: `the file as ${INTEGRITY} describes it`,
      code: 'MEGATRON_INTEGRITY_MISMATCH',
      payloadBytes: payload.get(source.file) ?? 0,
    });
  }
  return covered;
}

function dropParts(findings: Findings, covered: ReadonlySet<string>): void {
  findings.dropChecks(({ code, file }) => code !== 'MEGATRON_INTEGRITY_MISMATCH' && covered.has(file));
}

function reportUnlisted(directory: Directory, files: JsonObject, findings: Findings): void {
  for (const { name } of directory.files(/\.distcp$|^\.metadata$|^common\.pt$|^metadata\.json$/)) {
    if (Object.hasOwn(files, name)) continue;
    const file = directory.pathOf(name);
    findings.add('MEGATRON_INTEGRITY_UNLISTED', { file }, `${printable(file)} is not listed in ${INTEGRITY}`);
  }
}
