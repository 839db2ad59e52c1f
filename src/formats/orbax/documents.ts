import { excerpt, printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { type Json, parseJson } from '../../core/json.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import type { Directory } from '../../bytes/source/directory.ts';

/**
 * Reads a JSON document of a checkpoint; null when it is not there or cannot be read, the latter
 * with evidence.
 */
export function readDocument(folder: Directory, name: string, findings: Findings): Json {
  if (!folder.has(name)) return null;
  const file = folder.pathOf(name);
  const source = folder.open(name);
  if (source.size === 0) {
    findings.add('FILE_EMPTY', { file }, `${printable(file)} has no bytes`);
    return null;
  }
  if (source.size > LIMITS.documentBytes) {
    findings.add('LIMIT_EXCEEDED', { file }, `${printable(file)} has ${source.size} bytes, at most ${LIMITS.documentBytes} are read`);
    return null;
  }
  const parsed = parseJson(source.read(0, source.size).toString('utf8'));
  if (parsed.ok) return parsed.value;
  const code = parsed.limit ? 'LIMIT_EXCEEDED' : 'DOCUMENT_INVALID';
  findings.add(code, { file }, `${printable(file)} is not JSON that can be read: ${excerpt(parsed.reason)}`);
  return null;
}
