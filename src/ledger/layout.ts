import { join } from 'node:path';

/** A file of the ledger, by what its name says. */
export interface LedgerFile {
  readonly name: string;
  readonly attempt: number;
  readonly node: string;
}

/** The ledger of a run: one file per attempt and node in this folder. */
export function ledgerFolder(run: string): string {
  return join(run, '.holdfast', 'ledger');
}

/** Longest name of a node as it stands in a file name. */
const MOST_NODE_CHARACTERS = 200;

/** `3-node-a.jsonl`; characters that do not belong into a file name are written as `=xx`, byte by byte. */
export function ledgerFileName(attempt: number, node: string): string {
  const safe = Array.from(Buffer.from(node), (byte) => {
    const char = String.fromCharCode(byte);
    return /[A-Za-z0-9._-]/.test(char) ? char : `=${byte.toString(16).padStart(2, '0')}`;
  }).join('');
  return `${attempt}-${safe.slice(0, MOST_NODE_CHARACTERS)}.jsonl`;
}

/** The attempt and node that the name of a file tells; null when it is no file of the ledger. */
export function parseLedgerFileName(name: string): LedgerFile | null {
  const match = /^(0|[1-9]\d{0,14})-([A-Za-z0-9._=-]{0,200})\.jsonl$/.exec(name);
  if (match === null) return null;
  const [, attempt = '', safe = ''] = match;
  const latin = safe.replace(/=([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return { name, attempt: Number(attempt), node: Buffer.from(latin, 'latin1').toString('utf8') };
}
