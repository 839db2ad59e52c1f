/** Nobody answers, or what answers is not what it should be. */
export type TroubleKind = 'unreachable' | 'nonsense';

/** A metadata service that could not be heard; the message continues "the metadata service …". */
export class MetadataTrouble extends Error {
  readonly kind: TroubleKind;

  constructor(kind: TroubleKind, message: string) {
    super(message);
    this.name = 'MetadataTrouble';
    this.kind = kind;
  }
}

export function unreachable(why: string): MetadataTrouble {
  return new MetadataTrouble('unreachable', `does not answer (${why})`);
}

export function nonsense(what: string): MetadataTrouble {
  return new MetadataTrouble('nonsense', `gives an answer that is not understood (${what})`);
}
