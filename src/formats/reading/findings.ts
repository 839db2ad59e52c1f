import { excerpt } from '../../core/printable.ts';
import { ContentBuilder } from './content.ts';
import type { Algorithm, Check } from '../../bytes/hashing/check.ts';
import { CrcList, type StoredCrc } from '../../bytes/hashing/crc-list.ts';
import { EVIDENCE_CODES, type EvidenceCode } from '../../evidence/catalogue.ts';
import type { Evidence } from '../../evidence/evidence.ts';
import { LIMITS } from '../../core/hostile-limits.ts';

/** The place of a piece of evidence, with the expected and the found value. */
export type Where = { readonly file: string | null; readonly offset?: number; readonly expected?: string; readonly found?: string };

/** What the checksums of a checkpoint cover. */
export interface Coverage {
  readonly checks: number;
  readonly algorithms: readonly Algorithm[];
  readonly payloadBytes: number;
  /** Bytes that have to be read to compare them all. */
  readonly bytes: number;
}

/** Checks that are handled at a time. */
const CHECKS_AT_ONCE = 50_000;

/**
 * What a reader found in a file or a directory: evidence, checksums for `--deep`, the number of
 * payload bytes, and what a trainer would find. The findings of a directory's members are merged
 * into its own.
 */
export class Findings {
  readonly evidence: Evidence[] = [];
  readonly content = new ContentBuilder();
  /** Names that loading a pickle would import (`module.name`), and how many pickles do. */
  readonly globals = new Map<string, number>();
  /**
   * Bytes of tensor data (or what stands for it) that a checksum should cover. The covered part is
   * the sum over `checks`.
   */
  payloadBytes = 0;
  /** Evidence beyond `LIMITS.evidencePerCode`, by code. */
  readonly suppressed = new Map<EvidenceCode, number>();
  #counts = new Map<EvidenceCode, number>();
  readonly #checks: Check[] = [];
  #crcs = new CrcList();
  #hasTooManyChecks = false;

  /**
   * The checksums, one by one. Where they may be very many, {@link coverage} and {@link checkParts}
   * need less.
   */
  get checks(): Check[] {
    const crcs = this.#crcs;
    if (crcs.length > 0) this.#crcs = new CrcList();
    for (let index = 0; index < crcs.length && !this.#hasTooManyChecks; index++) this.addCheck(crcs.checks(index, index + 1)[0] as Check);
    return this.#checks;
  }

  /** How many checksums there are, and what they cover. */
  get coverage(): Coverage {
    const algorithms = new Set(this.#checks.map(({ algorithm }) => algorithm));
    if (this.#crcs.length > 0) algorithms.add('crc32');
    const sum = (of: (check: Check) => number) => this.#checks.reduce((total, check) => total + of(check), this.#crcs.bytes);
    return {
      checks: this.#checks.length + this.#crcs.length,
      algorithms: [...algorithms],
      payloadBytes: sum(({ payloadBytes }) => payloadBytes),
      bytes: sum(({ length }) => length),
    };
  }

  /** The checksums in parts, none of which is large. */
  *checkParts(): Generator<readonly Check[]> {
    if (this.#crcs.length <= CHECKS_AT_ONCE) {
      if (this.checks.length > 0) yield this.checks;
      return;
    }
    if (this.#checks.length > 0) yield this.#checks;
    for (let start = 0; start < this.#crcs.length; start += CHECKS_AT_ONCE) yield this.#crcs.checks(start, start + CHECKS_AT_ONCE);
  }

  /** Records evidence. `message` is one sentence for a person, with the numbers in it. */
  add(code: EvidenceCode, where: Where, message: string): void {
    const count = (this.#counts.get(code) ?? 0) + 1;
    this.#counts.set(code, count);
    if (count > LIMITS.evidencePerCode) {
      this.suppressed.set(code, count - LIMITS.evidencePerCode);
      return;
    }
    this.evidence.push({ code, effect: EVIDENCE_CODES[code].effect, ...clipped(where), message: excerpt(message, LONGEST_MESSAGE) });
  }

  /** Lists a checksum for `--deep`. */
  addCheck(check: Check): void {
    if (this.#checks.length < LIMITS.checks) this.#checks.push(check);
    else if (!this.#hasTooManyChecks) {
      this.#hasTooManyChecks = true;
      const message = `the checkpoint has more than ${LIMITS.checks} checksums; the others were left out`;
      this.add('LIMIT_EXCEEDED', { file: check.file }, message);
    }
  }

  /** Lists the checksum of tensor bytes: of these there may be a million. */
  addCrc(crc: StoredCrc): void {
    this.#crcs.push(crc);
  }

  /** Leaves out the checksums of which this is true. */
  dropChecks(isDropped: (check: { readonly file: string; readonly code: EvidenceCode }) => boolean): void {
    const kept = this.#checks.filter((check) => !isDropped(check));
    this.#checks.splice(0, this.#checks.length);
    for (const check of kept) this.#checks.push(check);
    const crcs = this.#crcs;
    this.#crcs = new CrcList();
    for (let index = 0; index < crcs.length; index++) {
      const crc = crcs.at(index);
      if (!isDropped({ file: crc.file, code: 'ZIP_CRC_MISMATCH' })) this.#crcs.push(crc);
    }
  }

  addGlobal(name: string, uses = 1): void {
    const known = this.globals.get(name);
    if (known !== undefined || this.globals.size < LIMITS.globals) this.globals.set(name, (known ?? 0) + uses);
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

  /**
   * Takes over what was found in a member but for its content: for members whose role is known from
   * elsewhere (`optimizer.pt`).
   */
  mergeWithoutContent(member: Findings): void {
    for (const { code, effect: _, message, ...where } of member.evidence) this.add(code, where, message);
    for (const [code, count] of member.suppressed) this.suppressed.set(code, (this.suppressed.get(code) ?? 0) + count);
    for (const check of member.#checks) this.addCheck(check);
    for (let index = 0; index < member.#crcs.length; index++) this.#crcs.push(member.#crcs.at(index));
    for (const [name, uses] of member.globals) this.addGlobal(name, uses);
    this.payloadBytes += member.payloadBytes;
  }
}

/**
 * Whatever text a reader lets through from a file, no evidence is longer, and none holds what a
 * terminal would obey.
 */
const LONGEST_MESSAGE = 2000;
const LONGEST_PATH = 8192;

function clipped({ file, offset, expected, found }: Where): Where {
  return {
    file: file !== null && file.length > LONGEST_PATH ? `${file.slice(0, LONGEST_PATH)}…` : file,
    ...(offset === undefined ? {} : { offset }),
    ...(expected === undefined ? {} : { expected: excerpt(expected, LONGEST_MESSAGE) }),
    ...(found === undefined ? {} : { found: excerpt(found, LONGEST_MESSAGE) }),
  };
}
