import { excerpt } from '../../../core/printable.ts';
import type { Findings } from '../../reading/findings.ts';
import type { ByteSource } from '../../../bytes/source/byte-source.ts';
import type { GlobalRecord } from './global-register.ts';
import { judgeGlobal } from './safety.ts';
import type { PickleResult } from './walk.ts';

/**
 * Turns the result of a walk into evidence: why it ended early, and every name outside the
 * frameworks' own that a load would import. `isScript` marks a pickle for TorchScript's own reader,
 * which resolves the classes of the archive's code itself.
 */
export function reportPickle(result: PickleResult, source: ByteSource, findings: Findings, isScript = false): void {
  const { file } = source;
  if (result.failure !== null) {
    const { code, offset, message } = result.failure;
    findings.add(code, { file, offset: source.base + offset }, `the pickle ${message}`);
  }
  for (const record of result.globals) reportGlobal(record, source, findings, isScript);
  for (const offset of isScript ? [] : result.computedCalls) {
    findings.add('PICKLE_COMPUTED_CALL', { file, offset: source.base + offset }, 'loading would call the result of another call');
  }
}

function reportGlobal(record: GlobalRecord, source: ByteSource, findings: Findings, isScript: boolean): void {
  const { module, name } = record.global;
  const full = `${module}.${name}`;
  const offset = source.base + record.offset;
  findings.addGlobal(full);
  if (record.changedAt !== null) {
    const where = { file: source.file, offset: source.base + record.changedAt, found: excerpt(full) };
    findings.add('PICKLE_COMPUTED_CALL', where, `loading would change ${excerpt(full)} itself`);
  }
  if (isScript && module.startsWith('__torch__')) return;
  const danger = judgeGlobal(record);
  if (danger === null) return;
  findings.add(
    'PICKLE_UNSAFE_GLOBAL',
    { file: source.file, offset, found: excerpt(full) },
    `loading would ${verb(record)} ${excerpt(full)}, ${danger}`,
  );
}

function verb({ use }: GlobalRecord): string {
  if (use === 'reference') return 'import';
  return use === 'new' ? 'make an object of' : 'call';
}
