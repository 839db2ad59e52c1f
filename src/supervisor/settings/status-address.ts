import { isIP } from 'node:net';
import { type Parsed, parsed, refused } from '../../core/parsed.ts';
import { excerpt } from '../../core/printable.ts';

/** Where the status is served. */
export interface StatusAddress {
  readonly host: string;
  readonly port: number;
}

const LOOPBACK = '127.0.0.1';
const RULE = 'it is a port (9400), or an address and a port (0.0.0.0:9400, [::]:9400)';

/** Reads `PORT` or `ADDRESS:PORT`. A port alone is served to this machine only. */
export function parseStatusAddress(text: string): Parsed<StatusAddress> {
  const match = /^(?:(?:\[([^\]]*)\]|([^:]*)):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[3] ?? Number.NaN);
  if (match === null || port > 65_535) return refused(`"${excerpt(text, 60)}" is not where a status can be served: ${RULE}`);
  const host = match[1] ?? match[2] ?? LOOPBACK;
  if (isIP(host) === 0 && host !== 'localhost') return refused(`"${excerpt(host, 60)}" is not an address of this machine: ${RULE}`);
  return parsed({ host, port });
}

/** The address as a URL contains it. */
export function formatAddress({ host, port }: StatusAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
