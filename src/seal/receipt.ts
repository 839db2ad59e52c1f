import { excerpt } from '../core/printable.ts';
import { isObject, parseJson } from '../core/json.ts';
import { type Parsed, parsed, refused } from '../core/parsed.ts';
import { isCount, readFiles, readIdentity, type SaveIdentity, type SealedFile } from './manifest.ts';

/** The schema of a receipt. */
export const RECEIPT_SCHEMA = 'holdfast.receipt/1';

/** The files of one rank in one save, recorded after a sync of every byte. */
export interface Receipt extends SaveIdentity {
  readonly schema: typeof RECEIPT_SCHEMA;
  readonly rank: number;
  readonly files: readonly SealedFile[];
}

/** The file name of the receipt of a rank. */
export function receiptName(rank: number): string {
  return `rank-${rank}.json`;
}

/** A receipt as the text of its file. */
export function formatReceipt(receipt: Receipt): string {
  return `${JSON.stringify(receipt)}\n`;
}

/** Reads a receipt; the reason of a refusal continues "the receipt …". */
export function parseReceipt(text: string): Parsed<Receipt> {
  const json = parseJson(text);
  if (!json.ok || !isObject(json.value)) return refused('is not a JSON object');
  const { schema, rank } = json.value;
  if (schema !== RECEIPT_SCHEMA)
    return refused(`has ${excerpt(JSON.stringify(schema) ?? 'nothing', 40)} as its schema, not ${RECEIPT_SCHEMA}`);
  const identity = readIdentity(json.value);
  if ('reason' in identity) return refused(identity.reason);
  if (!isCount(rank) || rank >= identity.worldSize) return refused(`names no rank below the world size ${identity.worldSize}`);
  const files = readFiles(json.value['files']);
  if ('reason' in files) return refused(files.reason);
  return parsed({ schema: RECEIPT_SCHEMA, ...identity, rank, files });
}
