/** A member of a group. Only hard links have an address; the others name a target elsewhere. */
export interface Link {
  readonly name: string;
  readonly target: number | 'soft' | 'external';
}
