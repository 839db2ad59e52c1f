import { StringDecoder } from 'node:string_decoder';
import { counted } from '../../../core/counted.ts';

/** A row of a CSV file as an object, by the names of the header; or why it is none. */
export interface CsvRow {
  /** Where the row begins. */
  readonly line: number;
  readonly fields: Readonly<Record<string, string>>;
  readonly reason: string | null;
}

/**
 * Reads CSV as RFC 4180 has it: commas, quotes that may hold line breaks, doubled quotes. The first
 * row names the fields.
 */
export async function* csvObjects(pieces: AsyncIterable<Buffer>, longest: number): AsyncGenerator<CsvRow> {
  let header: readonly string[] | null = null;
  for await (const { line, cells, reason } of csvRows(pieces, longest)) {
    if (header === null) {
      header = cells;
      const twice = cells.find((name, i) => cells.indexOf(name) !== i);
      if (reason !== null || twice !== undefined) {
        yield { line, fields: {}, reason: reason ?? `the header names "${twice ?? ''}" twice` };
        return;
      }
    } else if (reason !== null) yield { line, fields: {}, reason };
    else if (cells.length !== header.length)
      yield { line, fields: {}, reason: `the row has ${counted(cells.length, 'field')}, the header ${header.length}` };
    else yield { line, fields: Object.fromEntries(header.map((name, i) => [name, cells[i] ?? ''])), reason: null };
  }
}

interface Row {
  readonly line: number;
  readonly cells: readonly string[];
  readonly reason: string | null;
}

async function* csvRows(pieces: AsyncIterable<Buffer>, longest: number): AsyncGenerator<Row> {
  const decoder = new StringDecoder('utf8');
  const reader = new RowReader(longest);
  let isFirst = true;
  for await (const piece of pieces) {
    let text = decoder.write(piece);
    if (isFirst && text !== '') {
      text = text.replace(/^\ufeff/, '');
      isFirst = false;
    }
    yield* reader.read(text);
  }
  yield* reader.read(decoder.end());
  yield* reader.end();
}

/**
 * The states of a reader: before or in a plain field, inside quotes, or behind a quote that may be
 * the first of two.
 */
type State = 'plain' | 'quoted' | 'quote';

class RowReader {
  readonly #longest: number;
  #state: State = 'plain';
  #cell = '';
  #cells: string[] = [];
  #length = 0;
  #line = 1;
  #start = 1;

  constructor(longest: number) {
    this.#longest = longest;
  }

  *read(text: string): Generator<Row> {
    for (const char of text) {
      if (char === '\n') this.#line += 1;
      if (this.#state === 'quoted') this.#inQuotes(char);
      else if (char === '"' && (this.#state === 'quote' || this.#cell === '')) this.#onQuote();
      else if (char === ',') this.#endCell();
      else if (char === '\n') yield* this.#endRow();
      else if (char !== '\r') this.#keep(char);
    }
  }

  *end(): Generator<Row> {
    if (this.#state === 'quoted') yield { line: this.#start, cells: [], reason: 'a quote is never closed' };
    else if (this.#cell !== '' || this.#cells.length > 0) yield* this.#endRow();
  }

  #inQuotes(char: string): void {
    if (char === '"') this.#state = 'quote';
    else this.#keep(char);
  }

  #onQuote(): void {
    if (this.#state === 'quote') this.#keep('"');
    this.#state = 'quoted';
  }

  #keep(char: string): void {
    this.#length += 1;
    if (this.#length <= this.#longest) this.#cell += char;
  }

  #endCell(): void {
    this.#cells.push(this.#cell);
    [this.#cell, this.#state] = ['', 'plain'];
  }

  *#endRow(): Generator<Row> {
    this.#endCell();
    const isEmpty = this.#cells.length === 1 && this.#cells[0] === '';
    const reason = this.#length > this.#longest ? `the row has more than ${this.#longest} characters` : null;
    if (!isEmpty) yield { line: this.#start, cells: this.#cells, reason };
    [this.#cells, this.#length, this.#start] = [[], 0, this.#line];
  }
}
