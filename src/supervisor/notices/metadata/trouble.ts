/** The kind of trouble: the service does not answer, or its answer is invalid. */
export type TroubleKind = 'unreachable' | 'nonsense';

/**
 * A metadata service that did not answer properly; the message continues "the metadata service …".
 */
export class MetadataTrouble extends Error {
  readonly kind: TroubleKind;

  constructor(kind: TroubleKind, message: string) {
    super(message);
    this.name = 'MetadataTrouble';
    this.kind = kind;
  }
}

/** The trouble of a service that does not answer. */
export function unreachable(why: string): MetadataTrouble {
  return new MetadataTrouble('unreachable', `does not answer (${why})`);
}

/** The trouble of a service whose answer is invalid. */
export function nonsense(what: string): MetadataTrouble {
  return new MetadataTrouble('nonsense', `gives an answer that is not understood (${what})`);
}
