import type { EvidenceCode } from '../../evidence/catalogue.ts';

/**
 * A file or folder could not be opened, listed or read. Readers let it pass; the engine turns it
 * into evidence.
 */
export class SourceError extends Error {
  readonly evidence: EvidenceCode;
  readonly file: string;

  constructor(evidence: EvidenceCode, file: string, message: string) {
    super(message);
    this.name = 'SourceError';
    this.evidence = evidence;
    this.file = file;
  }
}
