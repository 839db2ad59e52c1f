import { type GraceFacts, type GraceLimit, NODE_KINDS, type NodeKind, type Pressure } from '../../domain/grace/effective-grace.ts';

/** The facts about the node that the effective grace is computed from. */
export type NodeFact = Pick<GraceFacts, 'node' | 'pressure' | 'limits'>;

/**
 * The facts about this machine that shorten a grace. The metadata service and the watched file
 * report some; the rest is read when a notice comes.
 */
export class NodeFacts {
  readonly #kinds = new Map<string, NodeKind>();
  #limits: readonly GraceLimit[] = [];
  #look: () => readonly Pressure[] = () => [];

  /** Notes the kind of the node as a source reports it; null: the source has withdrawn it. */
  noteNode(source: 'metadata' | 'watched-file', kind: NodeKind | null): void {
    if (kind === null) this.#kinds.delete(source);
    else this.#kinds.set(source, kind);
  }

  noteLimits(limits: readonly GraceLimit[]): void {
    this.#limits = limits;
  }

  /** Sets the function that looks for pressure. */
  notePressure(look: () => readonly Pressure[]): void {
    this.#look = look;
  }

  /** The kind of the node; of several the one with the shortest grace. */
  get node(): NodeKind | null {
    const kinds = [...this.#kinds.values()].sort((a, b) => NODE_KINDS[a].graceMs - NODE_KINDS[b].graceMs);
    return kinds[0] ?? null;
  }

  now(): NodeFact {
    return { node: this.node, pressure: this.#look(), limits: this.#limits };
  }
}
