/** How many pods each domain has, and the least of these numbers. */
export class DomainCounts {
  readonly #counts = new Map<string, number>();
  #least: number | null = null;

  /** The number of domains. */
  get domains(): number {
    return this.#counts.size;
  }

  /** The pods of the emptiest domain; more than any number when there is no domain. */
  get least(): number {
    if (this.#least === null) {
      this.#least = Number.MAX_SAFE_INTEGER;
      for (const count of this.#counts.values()) if (count < this.#least) this.#least = count;
    }
    return this.#least;
  }

  /** The pods of one domain; 0 for one that does not count. */
  of(domain: string): number {
    return this.#counts.get(domain) ?? 0;
  }

  change(domain: string, by: number): void {
    const before = this.#counts.get(domain);
    const after = (before ?? 0) + by;
    this.#counts.set(domain, after);
    if (this.#least === null) return;
    if (after <= this.#least) this.#least = after;
    // The one that grew may have been the only emptiest.
    else if (before === this.#least) this.#least = null;
  }
}
