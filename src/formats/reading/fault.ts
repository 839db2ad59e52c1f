import type { EvidenceCode } from '../../evidence/catalogue.ts';
import type { Findings } from './findings.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';

/** The place of a fault, with the expected and the found value. */
export interface FaultFacts {
  /** In the source that is read, not in the file around it. */
  readonly offset?: number;
  readonly expected?: string;
  readonly found?: string;
}

/**
 * Bytes a parser cannot get past. It never leaves the reader it arose in: {@link reportFaults}
 * makes evidence of it.
 */
export class Fault extends Error {
  readonly code: EvidenceCode;
  readonly facts: FaultFacts;

  constructor(code: EvidenceCode, message: string, facts: FaultFacts = {}) {
    super(message);
    this.name = 'Fault';
    this.code = code;
    this.facts = facts;
  }
}

/**
 * Runs a parser of `source`; the fault that stops it, if any, becomes evidence. True when it came
 * to its end.
 */
export function reportFaults(source: ByteSource, findings: Findings, parse: () => void): boolean {
  try {
    parse();
    return true;
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    addFault(source, findings, thrown);
    return false;
  }
}

function addFault(source: ByteSource, findings: Findings, { code, facts, message }: Fault): void {
  const { offset, ...rest } = facts;
  const where = { file: source.file, ...rest };
  findings.add(code, offset === undefined ? where : { ...where, offset: source.base + offset }, message);
}
