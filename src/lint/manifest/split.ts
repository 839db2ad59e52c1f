/** One document of a YAML stream, by offsets. */
export interface Piece {
  readonly from: number;
  readonly text: string;
}

/**
 * The documents of a stream. `---` at the beginning of a line separates documents wherever it
 * stands, also within a block scalar, so that a document that is broken does not hide those behind
 * it.
 */
export function splitDocuments(stream: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const mark of stream.matchAll(/^(?:---|\.\.\.)(?=[ \t\r\n]|$).*$/gm)) {
    pieces.push({ from, text: stream.slice(from, mark.index) });
    // What stands on the line of the mark belongs to the document: `--- {kind: Job}`.
    from = mark.index + 3;
  }
  pieces.push({ from, text: stream.slice(from) });
  return pieces.filter(({ text }) => /^[ \t]*[^\s#%]/m.test(text));
}

/**
 * The kind as it stands at the beginning of a line, without reading the document; null when it does
 * not.
 */
export function peekKind(document: string): string | null {
  return /^kind:[ \t]*["']?([A-Za-z0-9.]+)/m.exec(document)?.[1] ?? null;
}

/** A tag of a template engine: `{{ .Values.x }}` outside of quotes and comments. */
export function templateTag(document: string): number {
  for (const mark of document.matchAll(/^(?![ \t]*#)([^\n"'#]*?)(\{\{[-~ ]|\{%)/gm)) return mark.index + (mark[1]?.length ?? 0);
  const quoted = /["']\{\{-? *\.[A-Z]/.exec(document);
  return quoted === null ? -1 : quoted.index + 1;
}
