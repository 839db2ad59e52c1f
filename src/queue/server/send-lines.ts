import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/**
 * Sends what the pages hold as JSON lines, no faster than the reader reads, and ends with a line
 * that says that it was all.
 */
export async function sendLines<T extends { readonly item: number }>(
  response: ServerResponse,
  readPage: (after: number) => Promise<readonly T[]>,
): Promise<void> {
  let after = 0;
  let count = 0;
  for (;;) {
    const page = await readPage(after);
    // Only now: an error of the first page has a status of its own.
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    if (page.length > 0 && !response.write(page.map((one) => `${JSON.stringify(one)}\n`).join(''))) await drained(response);
    if (response.destroyed) return;
    count += page.length;
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.item;
  }
  response.end(`${JSON.stringify({ end: true, count })}\n`);
}

async function drained(response: ServerResponse): Promise<void> {
  const closed = new AbortController();
  const close = (): void => closed.abort();
  response.once('close', close);
  try {
    await once(response, 'drain', { signal: closed.signal });
  } catch {
    // The reader went away.
  } finally {
    response.off('close', close);
  }
}
