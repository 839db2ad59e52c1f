import { ContentBuilder } from './content.ts';
import type { Check } from './deep/check.ts';
import { EVIDENCE_CODES, type EvidenceCode } from './evidence/catalogue.ts';
import type { Evidence } from './evidence/evidence.ts';
import { LIMITS } from './limits.ts';

/** A name that loading a pickle would import and call. */
export interface GlobalUse {
  /** `module.name`, as the pickle says it. */
  readonly name: string;
  readonly file: string;
  readonly offset: number;
}

export type Where = { readonly file: string | null; readonly offset?: number; readonly expected?: string; readonly found?: string };

/**
 * What a reader found out about a file or a directory: evidence, the checksums `--deep` should compare, how many payload bytes
 * there are, and what a trainer would find in it. A directory's findings are merged from those of its members.
 */
export class Findings {
  readonly evidence: Evidence[] = [];
  readonly checks: Check[] = [];
  readonly content = new ContentBuilder();
  readonly globals: GlobalUse[] = [];
  /** Bytes of tensor data (or what stands for it) that a checksum should cover. The covered part is the sum over `checks`. */
  payloadBytes = 0;
  /** Evidence beyond `LIMITS.evidencePerCode`, by code. */
  readonly suppressed = new Map<EvidenceCode, number>();
  #counts = new Map<EvidenceCode, number>();

  /** Records evidence. `message` is one sentence for a person, with the numbers in it. */
  add(code: EvidenceCode, where: Where, message: string): void {
    const count = (this.#counts.get(code) ?? 0) + 1;
    this.#counts.set(code, count);
    if (count > LIMITS.evidencePerCode) {
      this.suppressed.set(code, count - LIMITS.evidencePerCode);
      return;
    }
    this.evidence.push({ code, effect: EVIDENCE_CODES[code].effect, ...where, message });
  }

  has(code: EvidenceCode): boolean {
    return this.#counts.has(code);
  }

  /** True when something so bad was found that a reader need not look further. */
  get isBroken(): boolean {
    return this.evidence.some(({ effect }) => effect === 'corrupt' || effect === 'partial' || effect === 'unreadable');
  }

  /** Takes over everything that was found in a member. */
  merge(member: Findings): void {
    this.mergeWithoutContent(member);
    this.content.merge(member.content);
  }

  /** Takes over what was found in a member but for its content: for members whose role is known from elsewhere (`optimizer.pt`). */
  mergeWithoutContent(member: Findings): void {
    for (const { code, effect: _, message, ...where } of member.evidence) this.add(code, where, message);
    for (const [code, count] of member.suppressed) this.suppressed.set(code, (this.suppressed.get(code) ?? 0) + count);
    for (const check of member.checks) this.checks.push(check);
    for (const use of member.globals) this.globals.push(use);
    this.payloadBytes += member.payloadBytes;
  }
}
