import { type Parsed, parsed, refused } from '../../core/parsed.ts';
import { excerpt } from '../../core/printable.ts';

/** The address to listen on. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Reads `HOST:PORT`. */
export function parseListen(text: string): Parsed<ListenAddress> {
  const [, bracketed, plain, port = ''] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s]*)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain ?? '';
  if (port === '' || Number(port) > 65_535)
    return refused(`"${excerpt(text, 60)}" is not an address: HOST:PORT, such as 0.0.0.0:9500 or [::]:9500`);
  return parsed({ host: host === '' ? '0.0.0.0' : host, port: Number(port) });
}
