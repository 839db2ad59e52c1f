const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Reads the text of the first element of that name; null when there is none. Enough for the flat
 * answers of S3 and STS, in linear time.
 */
export function xmlText(xml: string, name: string): string | null {
  const inner = xmlBlocks(xml, name, 1)[0];
  return inner === undefined ? null : unescapeXml(inner);
}

/** Reads the content of every element of that name; they must not be nested. */
export function xmlBlocks(xml: string, name: string, most = Infinity): string[] {
  const blocks: string[] = [];
  const close = `</${name}>`;
  let at = 0;
  while (blocks.length < most) {
    const start = openTag(xml, name, at);
    if (start < 0) break;
    const end = xml.indexOf(close, start);
    if (end < 0) break;
    blocks.push(xml.slice(start, end));
    at = end + close.length;
  }
  return blocks;
}

/** Finds the start of the next element's content; -1 when there is none. */
function openTag(xml: string, name: string, from: number): number {
  for (let at = xml.indexOf(`<${name}`, from); at >= 0; at = xml.indexOf(`<${name}`, at + 1)) {
    const next = xml.charAt(at + name.length + 1);
    if (next !== '>' && next !== ' ' && next !== '\n') continue;
    const end = xml.indexOf('>', at);
    if (end < 0) return -1;
    if (xml.charAt(end - 1) !== '/') return end + 1;
  }
  return -1;
}

function unescapeXml(text: string): string {
  return text.replace(/&(#x[0-9a-fA-F]{1,6}|#\d{1,7}|[a-z]{2,4});/g, (whole, name: string) => {
    if (!name.startsWith('#')) return ENTITIES[name] ?? whole;
    const code = name.charAt(1) === 'x' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** Escapes text for XML. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char] ?? char);
}
