const PAGE = 1024;

/**
 * A long list of non-negative whole numbers, at four bytes each when that suffices. Grows page by
 * page, so that growing copies nothing.
 */
export class NumberColumn {
  readonly #pages: (Uint32Array | Float64Array)[] = [];
  length = 0;
  /** Bytes of memory it holds. */
  bytes = 0;

  push(value: number): void {
    const at = this.length % PAGE;
    if (at === 0) this.#addPage();
    this.length++;
    const page = this.#pages[this.#pages.length - 1] as Uint32Array | Float64Array;
    if (value > 0xffff_ffff && page instanceof Uint32Array) this.#widen(page)[at] = value;
    else page[at] = value;
  }

  /** The number at a valid index. */
  at(index: number): number {
    return (this.#pages[Math.floor(index / PAGE)] as Uint32Array | Float64Array)[index % PAGE] as number;
  }

  #addPage(): void {
    this.#pages.push(new Uint32Array(PAGE));
    this.bytes += PAGE * 4;
  }

  #widen(page: Uint32Array): Float64Array {
    const wide = Float64Array.from(page);
    this.#pages[this.#pages.length - 1] = wide;
    this.bytes += PAGE * 4;
    return wide;
  }
}

/** Numbers for repeated texts, in the order in which each text first appears. */
export class NameColumn {
  readonly #ids = new Map<string, number>();
  readonly #names: string[] = [];
  /** Bytes of memory it holds, roughly. */
  bytes = 0;

  get length(): number {
    return this.#names.length;
  }

  idOf(name: string): number {
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    const id = this.#names.length;
    this.#ids.set(name, id);
    this.#names.push(name);
    this.bytes += 96 + 2 * name.length;
    return id;
  }

  /** The number of a text, if the text has appeared. */
  find(name: string): number | undefined {
    return this.#ids.get(name);
  }

  at(id: number): string {
    return this.#names[id] as string;
  }
}
