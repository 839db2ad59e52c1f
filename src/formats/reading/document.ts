import { excerpt, printable } from '../../core/printable.ts';
import type { Findings } from './findings.ts';
import { isObject, type JsonObject, parseJson } from '../../core/json.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { openMember } from './open-member.ts';

/**
 * Reads a JSON document of a checkpoint that must be an object; what is wrong with it becomes
 * evidence, and null is returned.
 */
export function readDocument(directory: Directory, name: string, findings: Findings): JsonObject | null {
  const file = directory.pathOf(name);
  const source = openMember(directory, name, findings);
  if (source === null) return null;
  if (source.size > LIMITS.documentBytes) {
    const message = `${printable(file)} has ${source.size} bytes, more than the ${LIMITS.documentBytes} that are read of a document`;
    findings.add('LIMIT_EXCEEDED', { file, found: `${source.size} bytes` }, message);
    return null;
  }
  const bytes = source.read(0, source.size);
  if (bytes.length === 0) findings.add('FILE_EMPTY', { file }, `${printable(file)} has no bytes`);
  else if (bytes.every((byte) => byte === 0))
    findings.add('FILE_ALL_ZERO', { file, offset: 0 }, `${printable(file)} holds only zero bytes`);
  else return parseObject(bytes.toString('utf8'), file, findings);
  return null;
}

function parseObject(text: string, file: string, findings: Findings): JsonObject | null {
  const parsed = parseJson(text);
  if (parsed.ok && isObject(parsed.value)) return parsed.value;
  if (parsed.ok) findings.add('DOCUMENT_INVALID', { file, expected: 'a JSON object' }, `${printable(file)} is JSON, but not an object`);
  else if (parsed.limit) findings.add('LIMIT_EXCEEDED', { file }, `${printable(file)}: ${parsed.reason}`);
  else {
    const found = excerpt(parsed.reason);
    findings.add('DOCUMENT_INVALID', { file, expected: 'JSON', found }, `${printable(file)} is not valid JSON: ${found}`);
  }
  return null;
}
