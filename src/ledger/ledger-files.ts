import { join } from 'node:path';

/** A file of the ledger, as its name describes it. */
export interface LedgerFile {
  readonly name: string;
  readonly attempt: number;
  readonly node: string;
}

/** Below the folder of a run: one file per attempt and node. No link on the way is followed. */
export const LEDGER = '.holdfast/ledger';

/** The ledger of a run. */
export function ledgerFolder(run: string): string {
  return join(run, LEDGER);
}

/** The longest name of a node in a file name. */
const MOST_NODE_CHARACTERS = 200;

/**
 * The file's name, `3-node-a.jsonl`; characters that are unsafe in a file name become `=xx`, byte
 * by byte.
 */
export function ledgerFileName(attempt: number, node: string): string {
  const safe = Array.from(Buffer.from(node), (byte) => {
    const char = String.fromCharCode(byte);
    return /[A-Za-z0-9._-]/.test(char) ? char : `=${byte.toString(16).padStart(2, '0')}`;
  }).join('');
  return `${attempt}-${safe.slice(0, MOST_NODE_CHARACTERS)}.jsonl`;
}

/**
 * Reads the attempt and the node from the name of a file; null when it is no file of the ledger.
 */
export function parseLedgerFileName(name: string): LedgerFile | null {
  const match = /^(0|[1-9]\d{0,14})-([A-Za-z0-9._=-]{0,200})\.jsonl$/.exec(name);
  if (match === null) return null;
  const [, attempt = '', safe = ''] = match;
  const latin = safe.replace(/=([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return { name, attempt: Number(attempt), node: Buffer.from(latin, 'latin1').toString('utf8') };
}
